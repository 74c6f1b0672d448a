// hunch convert-head: a head that others published, as a head file for a model.
#include "convert/convert_head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "apps/commands.h"
#include "apps/write_file.h"
#include "convert/published_file.h"
#include "session/corpus.h"
#include "train/target_rows.h"

namespace hunch {
namespace {

std::string Summary(const HeadConfig& config, TensorType type) {
  return fmt::format("a head of kind {} that guesses {} of {} tokens from layer{} {}, matrices {}",
                     HeadKindName(config.kind), config.output_rows(), config.target.vocabulary.size,
                     config.taps.size() == 1 ? "" : "s", fmt::join(config.taps, ", "),
                     GetTypeTraits(type).name);
}

}  // namespace

Result<int> ConvertHeadCommand(const Flags& flags, Context& context) {
  if (flags.words.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "no head to convert; name its file of tensors, or the folder of that"};
  }
  if (flags.out_file.empty()) {
    return Error{ErrorCode::kInvalidArgument, "nowhere to write to; give -o PATH for the head"};
  }
  HUNCH_RETURN_IF_ERROR(CheckWritable(flags.out_file));
  HUNCH_ASSIGN_OR_RETURN(std::shared_ptr<const GgufFile> file, GgufFile::Open(flags.model));
  HUNCH_ASSIGN_OR_RETURN(const TargetRows target, TargetRows::Open(std::move(file)));
  HUNCH_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(*target.file()));
  HUNCH_ASSIGN_OR_RETURN(const PublishedFile published, PublishedFile::Open(flags.words[0]));
  HUNCH_ASSIGN_OR_RETURN(
      const PublishedHead head,
      ReadPublishedHead(published.tensors(), published.config(), published.name(),
                        target.AsHeadTarget(VocabularyIdOf(*tokenizer)), flags.train.taps));
  HUNCH_RETURN_IF_ERROR(CheckEmbedding(
      head, published.name(), [&](TokenId token, float* out) { target.Embedding(token, out); }));
  const TensorType type = flags.train.options.type;
  HUNCH_ASSIGN_OR_RETURN(const GgufWriter writer, ConvertHead(head, published.name(), type));
  HUNCH_RETURN_IF_ERROR(writer.WriteFile(flags.out_file));
  context.console.err << fmt::format("{}: {}\n", flags.out_file, Summary(head.config, type));
  return kExitOk;
}

}  // namespace hunch
