// `inspect`: what a model is and whether it would fit, from headers alone (llm.h).
#include <algorithm>
#include <map>

#include "draft/head_file.h"
#include "draft/shipped_heads.h"
#include "session/draft_side.h"
#include "session/llm.h"
#include "session/memory_plan.h"
#include "weights/gguf.h"

namespace hunch {
namespace {

struct Opened {
  std::unique_ptr<GgufFile> file;
  std::unique_ptr<Tokenizer> tokenizer;  // null of a head
  std::unique_ptr<HeadConfig> head;      // of a head
  PlannedModel planned;
  ModelReport report;
};

Status OpenFile(const std::string& path, Opened& opened) {
  HUNCH_ASSIGN_OR_RETURN(opened.file, GgufFile::Open(path));
  ModelReport& report = opened.report;
  report.path = path;
  HUNCH_ASSIGN_OR_RETURN(report.architecture, opened.file->GetString("general.architecture"));
  HUNCH_ASSIGN_OR_RETURN(report.name, opened.file->GetStringOr("general.name", ""));
  report.file_bytes = opened.file->file_bytes();
  std::map<std::string, int> types;
  for (const GgufTensor& tensor : opened.file->tensors()) {
    report.parameters += tensor.elements();
    ++types[std::string(GetTypeTraits(tensor.type).name)];
  }
  report.tensor_types.assign(types.begin(), types.end());
  return Ok{};
}

void ReportShape(Opened& opened) {
  const ModelConfig& config = opened.planned.config;
  ModelReport& report = opened.report;
  report.layers = config.layers;
  report.hidden = config.hidden;
  report.heads = config.heads;
  report.kv_heads = config.kv_heads;
  report.head_dim = config.head_dim;
  report.vocab_rows = config.vocab;
  report.context_length = config.context_length;
}

Status ReadModel(Opened& opened) {
  HUNCH_RETURN_IF_ERROR(CheckIsModel(*opened.file));
  HUNCH_ASSIGN_OR_RETURN(opened.planned.config, ReadModelConfig(*opened.file));
  HUNCH_RETURN_IF_ERROR(CheckWeights(*opened.file, opened.planned.config));
  HUNCH_ASSIGN_OR_RETURN(opened.tokenizer, Tokenizer::Create(*opened.file));
  opened.planned.file = opened.file.get();
  ReportShape(opened);
  ModelReport& report = opened.report;
  report.tokenizer_model = opened.tokenizer->model();
  report.pre_tokenizer = opened.tokenizer->pre_tokenizer();
  report.vocab_size = opened.tokenizer->vocab_size();
  for (TokenId token : opened.tokenizer->end_tokens()) {
    report.end_tokens.emplace_back(token, opened.tokenizer->TokenBytes(token));
  }
  report.has_chat_template = opened.file->metadata().contains("tokenizer.chat_template");
  return Ok{};
}

Status ReadHead(Opened& opened, const Opened& target) {
  HUNCH_ASSIGN_OR_RETURN(HeadConfig config, ReadHeadConfig(*opened.file));
  opened.head = std::make_unique<HeadConfig>(std::move(config));
  opened.planned = PlanHead(*opened.file, *opened.head, target.planned.config);
  ReportShape(opened);
  opened.report.hidden = opened.head->target.hidden;
  opened.report.vocab_size = opened.head->target.vocabulary.size;
  opened.report.vocab_rows = opened.head->output_rows();
  opened.report.drafter = DraftersOf(opened.head->kind).front();
  return Ok{};
}

// A draft model, or a head.
Status ReadDraft(const std::string& path, const Opened& target, Opened& draft) {
  HUNCH_RETURN_IF_ERROR(OpenFile(path, draft));
  return IsHead(*draft.file) ? ReadHead(draft, target) : ReadModel(draft);
}

// Why it cannot draft for the target; empty: it can.
std::string Misfit(const Opened& target, const Opened& draft) {
  if (draft.head == nullptr) return VocabularyDifference(*target.tokenizer, *draft.tokenizer);
  const Status fits =
      CheckHeadTarget(*draft.head, draft.report.path,
                      HeadTargetOf(target.planned.config, *target.tokenizer), target.report.path);
  return fits.ok() ? "" : fits.error().message;
}

// The files that loading would take.
struct OpenedDrafts {
  std::unique_ptr<Opened> model, head;  // null: none
  bool head_is_shipped = false;

  std::vector<const Opened*> all() const {
    std::vector<const Opened*> opened;
    for (const auto& one : {model.get(), head.get()}) {
      if (one != nullptr) opened.push_back(one);
    }
    return opened;
  }
};

Status OpenDrafts(const LlmOptions& options, const Opened& target, OpenedDrafts& drafts) {
  const auto open = [&](const std::string& path) -> Status {
    auto draft = std::make_unique<Opened>();
    HUNCH_RETURN_IF_ERROR(ReadDraft(path, target, *draft));
    (draft->head == nullptr ? drafts.model : drafts.head) = std::move(draft);
    return Ok{};
  };
  if (!options.draft_model.empty()) HUNCH_RETURN_IF_ERROR(open(options.draft_model));
  if (drafts.head != nullptr || options.head == kNoHead) return Ok{};
  if (!options.head.empty()) {
    HUNCH_RETURN_IF_ERROR(open(options.head));
    return drafts.head != nullptr ? Status(Ok{}) : NotAHead(options.head);
  }
  const auto shipped =
      FindShippedHead(options.heads, HeadTargetOf(target.planned.config, *target.tokenizer));
  drafts.head_is_shipped = shipped.has_value();
  return shipped ? open(*shipped) : Status(Ok{});
}

}  // namespace

Result<InspectReport> Inspect(const LlmOptions& options) {
  InspectReport report;
  Opened target;
  HUNCH_RETURN_IF_ERROR(OpenFile(options.model, target));
  HUNCH_RETURN_IF_ERROR(ReadModel(target));
  report.target = target.report;
  OpenedDrafts drafts;
  HUNCH_RETURN_IF_ERROR(OpenDrafts(options, target, drafts));
  const int threads = options.threads > 0 ? options.threads : AvailableCpus();
  const PlannedDrafts planned = {
      .model = drafts.model == nullptr ? nullptr : &drafts.model->planned,
      .shares_weights = options.draft_model == options.model,
      .head = drafts.head == nullptr ? nullptr : &drafts.head->planned,
      .head_may_go = drafts.head_is_shipped};
  HUNCH_ASSIGN_OR_RETURN(const SizedPlan plan,
                         PlanMemory(options, target.planned, planned, threads));
  if (plan.head_left_out) drafts.head = nullptr;
  for (const Opened* draft : drafts.all()) {
    report.draft.push_back(draft->report);
    if (report.vocabulary_difference.empty()) {
      report.vocabulary_difference = Misfit(target, *draft);
    }
  }
  report.max_model_len = plan.max_model_len;
  report.max_num_seqs = options.max_num_seqs;
  report.memory = plan.memory;
  const auto cache_bytes = [&](KvType type) {
    uint64_t bytes = ModelKv::Bytes(target.planned.config, type, plan.target_blocks);
    for (const Opened* draft : drafts.all()) {
      const int blocks = draft->head == nullptr ? plan.draft_blocks : plan.head_blocks;
      bytes += ModelKv::Bytes(draft->planned.config, type, blocks);
    }
    return bytes;
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
