// `inspect`: what a model is and whether it would fit, from headers alone (llm.h).
#include <algorithm>
#include <map>

#include "session/llm.h"
#include "session/memory_plan.h"
#include "weights/gguf.h"

namespace hunch {
namespace {

struct Opened {
  std::unique_ptr<GgufFile> file;
  std::unique_ptr<Tokenizer> tokenizer;
  PlannedModel planned;
  ModelReport report;
};

Result<Opened> OpenModel(const std::string& path) {
  Opened opened;
  HUNCH_ASSIGN_OR_RETURN(opened.file, GgufFile::Open(path));
  HUNCH_ASSIGN_OR_RETURN(opened.planned.config, ReadModelConfig(*opened.file));
  HUNCH_RETURN_IF_ERROR(CheckWeights(*opened.file, opened.planned.config));
  HUNCH_ASSIGN_OR_RETURN(opened.tokenizer, Tokenizer::Create(*opened.file));
  opened.planned.file = opened.file.get();
  const ModelConfig& config = opened.planned.config;

  ModelReport& report = opened.report;
  report.path = path;
  report.architecture = config.architecture;
  HUNCH_ASSIGN_OR_RETURN(report.name, opened.file->GetStringOr("general.name", ""));
  report.file_bytes = opened.file->file_bytes();
  std::map<std::string, int> types;
  for (const GgufTensor& tensor : opened.file->tensors()) {
    report.parameters += tensor.elements();
    ++types[std::string(GetTypeTraits(tensor.type).name)];
  }
  report.tensor_types.assign(types.begin(), types.end());
  report.layers = config.layers;
  report.hidden = config.hidden;
  report.heads = config.heads;
  report.kv_heads = config.kv_heads;
  report.head_dim = config.head_dim;
  report.vocab_rows = config.vocab;
  report.context_length = config.context_length;
  report.tokenizer_model = opened.tokenizer->model();
  report.pre_tokenizer = opened.tokenizer->pre_tokenizer();
  report.vocab_size = opened.tokenizer->vocab_size();
  for (TokenId token : opened.tokenizer->end_tokens()) {
    report.end_tokens.emplace_back(token, opened.tokenizer->TokenBytes(token));
  }
  report.has_chat_template = opened.file->metadata().contains("tokenizer.chat_template");
  return opened;
}

}  // namespace

Result<InspectReport> Inspect(const LlmOptions& options) {
  InspectReport report;
  HUNCH_ASSIGN_OR_RETURN(Opened target, OpenModel(options.model));
  Opened draft;
  const bool has_draft = !options.draft_model.empty();
  if (has_draft) {
    HUNCH_ASSIGN_OR_RETURN(draft, OpenModel(options.draft_model));
    report.vocabulary_difference = VocabularyDifference(*target.tokenizer, *draft.tokenizer);
    report.draft.push_back(draft.report);
  }
  report.target = target.report;
  const int threads = options.threads > 0 ? options.threads : AvailableCpus();
  HUNCH_ASSIGN_OR_RETURN(const SizedPlan plan,
                         PlanMemory(options, target.planned, has_draft ? &draft.planned : nullptr,
                                    options.draft_model == options.model, threads));
  report.max_model_len = plan.max_model_len;
  report.max_num_seqs = options.max_num_seqs;
  report.memory = plan.memory;
  const auto cache_bytes = [&](KvType type) {
    return ModelKv::Bytes(target.planned.config, type, plan.target_blocks) +
           (has_draft ? ModelKv::Bytes(draft.planned.config, type, plan.draft_blocks) : 0);
  };
  report.kv_cache_dtype = KvCacheDtypeName(options.kv_cache_dtype);
  report.kv_bytes_per_token =
      ModelKv::Bytes(target.planned.config, options.kv_cache_dtype, 1) / kKvBlock;
  for (KvType type : {KvType::kF16, KvType::kQ8_0}) {
    if (cache_bytes(type) < cache_bytes(options.kv_cache_dtype)) {
      report.smaller_caches.emplace_back(KvCacheDtypeName(type), cache_bytes(type));
    }
  }
  return report;
}

}  // namespace hunch
