#include "session/draft_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "model/token_list.h"
#include "session/corpus.h"

namespace hunch {
namespace {

Status CheckVocabularies(const Tokenizer& target, const std::string& target_path,
                         const Tokenizer& draft, const std::string& draft_path) {
  const std::string difference = VocabularyDifference(target, draft);
  if (difference.empty()) return Ok{};
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("{} cannot draft for {}: {}. A draft model must share the target's tokenizer: "
                  "use a smaller model of the same family ({} with {} tokens)",
                  draft_path, target_path, difference, target.pre_tokenizer(),
                  target.vocab_size())};
}

Result<LoadOptions> LoadOptionsOf(const LlmOptions& options, int vocab_size) {
  LoadOptions load;
  if (options.draft_quantization == "q4_0") {
    load.requantize_q4_0 = true;
  } else if (!options.draft_quantization.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("draft_quantization is '{}': use q4_0, or leave it out",
                             options.draft_quantization)};
  }
  if (options.draft_vocab.empty()) return load;
  errno = 0;
  std::ifstream file(options.draft_vocab, std::ios::binary);
  if (!file) {
    return Error{ErrorCode::kNotFound, fmt::format("{}: cannot open the token list: {}",
                                                   options.draft_vocab, std::strerror(errno))};
  }
  // A list of a million ids has less than 8 MB.
  std::string text(size_t{16} << 20, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (file.bad() || !file.eof()) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("{}: cannot be read as a token list; `hunch vocab count` writes one",
                             options.draft_vocab)};
  }
  HUNCH_ASSIGN_OR_RETURN(load.kept_tokens, ParseTokenList(text, options.draft_vocab, vocab_size));
  return load;
}

// Measured on the Qwen pair at T = 0: 8 guesses as a chain give 4.37 tokens a pass for 7.3 passes
// of the draft model, so grown 4.83 for 5.5.
const TreeDrafterOptions kDraftTrees = {.branches = 3, .expand = kDraftLeaves};

}  // namespace

std::vector<DrafterKind> DraftersOf(HeadKind kind) {
  switch (kind) {
    case HeadKind::kEagle3:
      return {DrafterKind::kEagle3};
    case HeadKind::kEagle:
      return {DrafterKind::kEagle2, DrafterKind::kEagle};
    case HeadKind::kMedusa:
      return {DrafterKind::kMedusa};
  }
  return {};
}

std::optional<HeadKind> HeadOf(DrafterKind kind) {
  for (const HeadKind head : {HeadKind::kEagle3, HeadKind::kEagle, HeadKind::kMedusa}) {
    const std::vector<DrafterKind> drafters = DraftersOf(head);
    if (std::find(drafters.begin(), drafters.end(), kind) != drafters.end()) return head;
  }
  return std::nullopt;
}

DrafterKind MethodOfFile(const std::string& path) {
  const auto file = GgufFile::Open(path);
  if (!file.ok() || !IsHead(**file)) return DrafterKind::kDraftModel;
  const auto head = ReadHeadConfig(**file);
  return head.ok() ? DraftersOf(head->kind).front() : DrafterKind::kEagle3;
}

Error NotAHead(const std::string& path) {
  return {
      ErrorCode::kInvalidArgument,
      fmt::format("{} is a model, not a head: name it as \"model\", or a head that `hunch train` "
                  "made",
                  path)};
}

Status CheckIsModel(const GgufFile& file) {
  if (!IsHead(file)) return Ok{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{} is a head, which guesses for a model: give that one as the model, "
                           "and this as its \"head\"",
                           file.name())};
}

HeadTarget HeadTargetOf(const ModelConfig& config, const Tokenizer& tokenizer) {
  return {.architecture = config.architecture,
          .vocabulary = VocabularyIdOf(tokenizer),
          .hidden = config.hidden,
          .layers = config.layers};
}

Status DraftSide::Open(const LlmOptions& options, const PlannedModel& target,
                       const Tokenizer& tokenizer) {
  path_ = options.draft_model;
  quantization_ = options.draft_quantization;
  vocab_ = options.draft_vocab;
  planned_ = target;
  target_file_ = target.file;
  vocab_size_ = tokenizer.vocab_size();
  HUNCH_ASSIGN_OR_RETURN(planned_.load, LoadOptionsOf(options, vocab_size_));
  own_ = options.draft_model == options.model && planned_.load.changes_nothing();
  if (own_) return Ok{};
  HUNCH_ASSIGN_OR_RETURN(file_, GgufFile::Open(options.draft_model));
  planned_.file = file_.get();
  if (IsHead(*file_)) return OpenHead(options, target, tokenizer);
  HUNCH_ASSIGN_OR_RETURN(planned_.config, ReadModelConfig(*file_));
  HUNCH_ASSIGN_OR_RETURN(const auto draft_tokenizer, Tokenizer::Create(*file_));
  HUNCH_RETURN_IF_ERROR(
      CheckVocabularies(tokenizer, options.model, *draft_tokenizer, options.draft_model));
  vocab_size_ = std::min(vocab_size_, draft_tokenizer->vocab_size());
  return Ok{};
}

Status DraftSide::OpenHead(const LlmOptions& options, const PlannedModel& target,
                           const Tokenizer& tokenizer) {
  if (!planned_.load.changes_nothing()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is a head: draft_quantization and draft_vocab are for draft "
                             "models; leave them out",
                             options.draft_model)};
  }
  HUNCH_ASSIGN_OR_RETURN(head_config_, ReadHeadConfig(*file_));
  HUNCH_RETURN_IF_ERROR(CheckHeadTarget(*head_config_, options.draft_model,
                                        HeadTargetOf(target.config, tokenizer), options.model));
  kinds_ = DraftersOf(head_config_->kind);
  planned_ = PlanHead(*file_, *head_config_, target.config);
  return Ok{};
}

bool DraftSide::Makes(DrafterKind kind) const {
  return std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
}

bool DraftSide::IsFor(const LlmOptions& options) const {
  return path_ == options.draft_model && quantization_ == options.draft_quantization &&
         vocab_ == options.draft_vocab;
}

Status DraftSide::Load(const LlmOptions& options, const SizedPlan& plan, Model& target,
                       ThreadPool& pool, ThreadPool* packing) {
  const ForwardLimits limits = DraftLimits(options.max_num_seqs);
  const int blocks = is_head() ? plan.head_blocks : plan.draft_blocks;
  if (head_config_ && head_config_->kind == HeadKind::kMedusa) {
    HUNCH_ASSIGN_OR_RETURN(
        medusa_,
        MedusaModel::Load(*file_, *head_config_, target.limits().max_rows, pool, limits, packing));
  } else if (head_config_) {
    HUNCH_ASSIGN_OR_RETURN(head_, HeadModel::Load(*file_, *head_config_, target, pool, limits,
                                                  options.kv_cache_dtype, blocks, packing));
  } else {
    if (!own_) {
      HUNCH_ASSIGN_OR_RETURN(model_, Model::Load(file_, pool, limits, planned_.load, packing));
    }
    Model& model = own_ ? target : *model_;
    HUNCH_ASSIGN_OR_RETURN(ModelKv kv,
                           ModelKv::Create(model.config(), options.kv_cache_dtype, blocks));
    target_ = std::make_unique<ModelTarget>(model, std::move(kv));
  }
  pool_ = std::make_unique<BlockPool>(blocks, options.enable_prefix_caching);
  context_ = std::min(plan.max_model_len, planned_.config.context_length);
  const uint64_t weights = is_head() ? plan.memory.head_weights : plan.memory.draft_weights;
  pass_share_ =
      own_ ? 1.0 : static_cast<double>(weights) / static_cast<double>(plan.memory.target_weights);
  return Ok{};
}

Status DraftSide::LoadBeside(const LlmOptions& options, int max_model_len, Model& target,
                             ThreadPool& pool) {
  LlmOptions running = options;
  running.max_model_len = max_model_len;
  const PlannedModel alone = {target_file_, target.config()};
  PlannedDrafts drafts;
  (is_head() ? drafts.head : drafts.model) = &planned_;
  drafts.shares_weights = own_;
  HUNCH_ASSIGN_OR_RETURN(const SizedPlan plan, PlanMemory(running, alone, drafts, pool.size()));
  const MemoryPlan& memory = plan.memory;
  const uint64_t needed = memory.draft_weights + memory.draft_kv + memory.head_weights +
                          memory.head_kv + memory.scratch;
  if (needed > memory.available) {
    return Error{ErrorCode::kResourceExhausted,
                 fmt::format("{} needs {:.0f} MB and {:.0f} MB are free: use a smaller one", path_,
                             static_cast<double>(needed) / 1e6,
                             static_cast<double>(memory.available) / 1e6)};
  }
  ThreadPool own_thread(1);
  return Load(running, plan, target, pool, &own_thread);
}

std::unique_ptr<Drafter> DraftSide::Make(DrafterKind kind, int vocab_size,
                                         std::vector<TokenId> end_tokens,
                                         PrefixCache::Salt cache_salt) const {
  TreeDrafterOptions options = kDraftTrees;
  options.noise_stream +=
      static_cast<uint32_t>(kind) - static_cast<uint32_t>(DrafterKind::kDraftModel);
  if (kind == DrafterKind::kEagle) options.branches = options.expand = 1;
  options.cache_salt = std::move(cache_salt);
  if (medusa_ != nullptr) {
    return std::make_unique<MedusaDrafter>(*medusa_, *pool_, vocab_size, context_,
                                           std::move(end_tokens), options);
  }
  if (head_ != nullptr) {
    return std::make_unique<HeadDrafter>(*head_, *pool_, vocab_size, context_,
                                         std::move(end_tokens), options);
  }
  return std::make_unique<DraftModel>(*target_, *pool_, vocab_size, context_, std::move(end_tokens),
                                      options);
}

}  // namespace hunch
