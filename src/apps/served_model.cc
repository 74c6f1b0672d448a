#include "apps/served_model.h"

#include <fmt/format.h>

#include <filesystem>

#include "apps/generate.h"
#include "apps/profile.h"

namespace hunch {
namespace {

constexpr std::string_view kNumericsName = "1";  // changes when docs/numerics.md does

}  // namespace

std::vector<std::string> ModelNames(const Flags& flags) {
  if (!flags.model_names.empty()) return flags.model_names;
  return {std::filesystem::path(flags.model).stem().string()};
}

std::string Fingerprint(const Flags& flags) {
  const Result<FileIdentity> file = IdentifyFile(flags.model);
  return fmt::format("hunch-{}-{}-{}", file.ok() ? file->hash : "unknown",
                     KvCacheDtypeName(flags.kv_cache_dtype), kNumericsName);
}

Result<std::unique_ptr<Llm>> LoadServedModel(const Flags& flags,
                                             const SpeculativeConfig& speculation,
                                             const Context& context) {
  Flags sized = flags;
  sized.max_num_seqs = flags.served_seqs;
  sized.max_num_batched_tokens = flags.batched_tokens;
  sized.enable_prefix_caching = flags.serve_prefix_caching;
  return LoadModelFor(sized, speculation, context);
}

}  // namespace hunch
