#include "session/llm.h"

#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "base/log.h"
#include "chat/chat_template.h"
#include "chat/render_chat.h"
#include "engine/check_request.h"
#include "grammar/grammars.h"
#include "sampling/sampler.h"
#include "session/draft_sides.h"
#include "session/learn_source.h"
#include "session/make_drafters.h"
#include "session/memory_plan.h"
#include "session/request_set.h"

namespace hunch {
namespace {

// What a swap brings; null: what is there already, or nothing.
struct LoadedSwap : PreparedSwap {
  using PreparedSwap::PreparedSwap;
  DraftSides drafts;  // all of them
  std::shared_ptr<SuffixStore> suffix_store;
  std::shared_ptr<const NgramTable> ngram_table;
};

class LoadedLlm : public Llm {
 public:
  explicit LoadedLlm(int threads) : pool_(threads) {}
  Status Init(const LlmOptions& options);

  Result<std::vector<TokenId>> EncodeChatTurn(const nlohmann::ordered_json& messages,
                                              const ChatTurn& turn) const override;
  Result<std::vector<TokenId>> EncodeRaw(std::string_view text) const override;
  bool has_chat_template() const override { return template_ != nullptr; }
  Result<RequestOutput> Generate(std::span<const TokenId> prompt, const SamplingParams& params,
                                 const SpeculativeConfig& speculation,
                                 const OnText& on_text) override;
  Result<RequestId> Start(TextRequest request, OnText on_text, OnDone on_done) override;
  bool Step() override { return requests_->Step(); }
  void Cancel(RequestId id) override { requests_->Cancel(id); }
  Status CheckStructuredOutput(const StructuredOutput& wanted) const override;
  bool Obeys(const StructuredOutput& wanted, std::string_view text) const override;
  Status Check(const TextRequest& request) const override;
  Result<std::unique_ptr<PreparedSwap>> PrepareSwap(const SpeculativeConfig& config) override;
  void Swap(std::unique_ptr<PreparedSwap> swap) override;
  Status SwapSpeculation(const SpeculativeConfig& config) override;
  LearnSource* learn_source() override { return learn_source_.get(); }
  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  int max_model_len() const override { return max_model_len_; }
  int threads() const override { return pool_.size(); }
  double load_seconds() const override { return load_seconds_; }
  std::optional<DrafterKind> head_method() const override;
  std::vector<PassTime> pass_times() const override;
  const EngineTotals& totals() const override { return engine_->totals(); }
  double kv_usage() const override {
    const BlockPool& pool = engine_->pool();
    return 1 - static_cast<double>(pool.free_blocks()) / pool.capacity();
  }

 private:
  Status LoadTemplate();
  void SetDrafterShares(const DraftSides& drafts);
  DraftSides drafts() const {
    std::lock_guard lock(drafts_mutex_);
    return drafts_;
  }
  DraftParts Parts() { return {drafts(), *tokenizer_, stores_, max_model_len_}; }
  void AddBos(std::vector<TokenId>& tokens) const;

  ThreadPool pool_;
  std::shared_ptr<const GgufFile> file_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<ChatTemplate> template_;
  std::string template_error_ = "the model file has no chat template";
  std::unique_ptr<Model> model_;
  std::unique_ptr<ModelTarget> target_;
  mutable std::mutex drafts_mutex_;  // for who asks on other threads
  DraftSides drafts_;
  std::unique_ptr<LearnSource> learn_source_;  // of requests; null: nothing is learned
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Grammars> grammars_;  // thread safe
  std::unique_ptr<RequestSet> requests_;
  SharedStores stores_;
  int max_model_len_ = 0;
  double load_seconds_ = 0;
  LlmOptions options_;
  PlannedModel planned_ = {};
};

// Each sequence that runs needs a row of every pass.
Status CheckBatchedTokens(const LlmOptions& options) {
  const int rows = options.max_num_batched_tokens;
  if (rows == 0 || (rows >= options.max_num_seqs && rows <= kTargetLimits.max_rows)) return Ok{};
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("max_num_batched_tokens is {}: it must be at least max_num_seqs, {}, and "
                  "at most {}",
                  rows, options.max_num_seqs, kTargetLimits.max_rows)};
}

Status LoadedLlm::Init(const LlmOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  HUNCH_RETURN_IF_ERROR(CheckBatchedTokens(options));
  HUNCH_ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> file, GgufFile::Open(options.model));
  file_ = std::move(file);
  PlannedModel target = {file_.get(), {}};
  HUNCH_RETURN_IF_ERROR(CheckIsModel(*file_));
  HUNCH_ASSIGN_OR_RETURN(target.config, ReadModelConfig(*file_));
  HUNCH_ASSIGN_OR_RETURN(tokenizer_, Tokenizer::Create(*file_));
  if (tokenizer_->vocab_size() > target.config.vocab) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("{}: the tokenizer has {} tokens but the embedding {} rows",
                             options.model, tokenizer_->vocab_size(), target.config.vocab)};
  }
  HUNCH_RETURN_IF_ERROR(LoadTemplate());

  HUNCH_ASSIGN_OR_RETURN(drafts_, OpenDraftSides(options, target, *tokenizer_));
  HUNCH_ASSIGN_OR_RETURN(const SizedPlan plan, PlanSides(options, target, pool_.size(), drafts_));

  max_model_len_ = plan.max_model_len;
  HUNCH_ASSIGN_OR_RETURN(model_, Model::Load(file_, pool_, kTargetLimits));
  HUNCH_ASSIGN_OR_RETURN(
      ModelKv kv, ModelKv::Create(model_->config(), options.kv_cache_dtype, plan.target_blocks));
  target_ = std::make_unique<ModelTarget>(*model_, std::move(kv));
  HUNCH_RETURN_IF_ERROR(LoadSides(options, plan, *model_, pool_, drafts_));
  const std::vector<PassTime> pass_times =
      options.pass_times.empty() ? PriorPassTimes() : options.pass_times;
  EngineOptions engine = {.vocab_size = tokenizer_->vocab_size(),
                          .max_model_len = max_model_len_,
                          .kv_blocks = plan.target_blocks,
                          .share_prefixes = options.enable_prefix_caching,
                          .max_num_seqs = options.max_num_seqs,
                          .end_tokens = tokenizer_->end_tokens(),
                          .pass_times = pass_times};
  if (options.max_num_batched_tokens > 0) {
    engine.max_num_batched_tokens = options.max_num_batched_tokens;
  }
  engine_ = std::make_unique<Engine>(*target_, std::move(engine));
  SetDrafterShares(drafts_);
  grammars_ = std::make_unique<Grammars>(GrammarVocabulary{
      .size = tokenizer_->vocab_size(),
      .bytes =
          [tokenizer = tokenizer_.get()](TokenId token) {
            return tokenizer->IsSpecial(token) ? std::string_view() : tokenizer->TokenBytes(token);
          },
      .end_tokens = tokenizer_->end_tokens()});
  requests_ = std::make_unique<RequestSet>(*engine_, *tokenizer_, *grammars_);
  if (options.learn) {
    if (drafts_.head == nullptr) {
      return Error{ErrorCode::kInvalidArgument,
                   "learning needs a head: name its file as \"head\" in --speculative-config"};
    }
    HUNCH_ASSIGN_OR_RETURN(
        learn_source_, LearnSource::Create(options, target, *drafts_.head, *tokenizer_, *model_));
    requests_->SetSink(&learn_source_->sink());
  }
  stores_.SetVocabulary(VocabularyIdOf(*tokenizer_));
  options_ = options;
  planned_ = target;
  load_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return Ok{};
}

void LoadedLlm::SetDrafterShares(const DraftSides& drafts) {
  for (const DraftSide* side : drafts.all()) {
    for (const DrafterKind kind : side->kinds()) {
      engine_->SetDrafterShare(DrafterKindName(kind), side->pass_share());
    }
  }
}

// A template that Hunch cannot read costs chat, not the model: raw completion still works, and
// EncodeChat says why chat does not.
Status LoadedLlm::LoadTemplate() {
  HUNCH_ASSIGN_OR_RETURN(const std::string source,
                         file_->GetStringOr("tokenizer.chat_template", ""));
  if (source.empty()) return Ok{};
  auto parsed = ChatTemplate::Parse(source);
  if (parsed.ok()) {
    template_ = std::move(parsed).value();
  } else {
    template_error_ =
        fmt::format("the model's chat template cannot be used ({})", parsed.error().message);
  }
  return Ok{};
}

void LoadedLlm::AddBos(std::vector<TokenId>& tokens) const {
  const TokenId bos = tokenizer_->bos();
  if (!tokenizer_->add_bos() || bos < 0) return;
  if (tokens.empty() || tokens.front() != bos) tokens.insert(tokens.begin(), bos);
}

Result<std::vector<TokenId>> LoadedLlm::EncodeChatTurn(const nlohmann::ordered_json& messages,
                                                       const ChatTurn& turn) const {
  if (template_ == nullptr) {
    return Error{ErrorCode::kUnsupported, template_error_ + ": use --raw for plain completion"};
  }
  HUNCH_ASSIGN_OR_RETURN(const int64_t eos, file_->GetIntOr("tokenizer.ggml.eos_token_id", -1));
  ChatInputs inputs;
  inputs.messages = messages;
  inputs.tools = turn.tools;
  inputs.now_unix_seconds = turn.now;
  inputs.bos_token = tokenizer_->TokenBytes(tokenizer_->bos());
  inputs.eos_token = tokenizer_->TokenBytes(static_cast<TokenId>(eos));
  HUNCH_ASSIGN_OR_RETURN(const std::vector<RenderedPiece> rendered,
                         RenderChat(*template_, std::move(inputs), turn.answer_start));
  std::vector<TextPiece> pieces;
  for (const RenderedPiece& piece : rendered) pieces.push_back({piece.text, piece.from_template});
  std::vector<TokenId> tokens = tokenizer_->EncodePieces(pieces);
  AddBos(tokens);
  return tokens;
}

Result<std::vector<TokenId>> LoadedLlm::EncodeRaw(std::string_view text) const {
  std::vector<TokenId> tokens = tokenizer_->Encode(text, /*parse_special=*/true);
  AddBos(tokens);
  return tokens;
}

Result<RequestOutput> LoadedLlm::Generate(std::span<const TokenId> prompt,
                                          const SamplingParams& params,
                                          const SpeculativeConfig& speculation,
                                          const OnText& on_text) {
  std::optional<RequestOutput> output;
  TextRequest request;
  request.prompt.assign(prompt.begin(), prompt.end());
  request.params = params;
  request.speculation = speculation;
  const auto on_done = [&](RequestOutput done) { output = std::move(done); };
  HUNCH_RETURN_IF_ERROR(Start(std::move(request), on_text, on_done));
  while (!output) requests_->Step();
  return std::move(*output);
}

Result<RequestId> LoadedLlm::Start(TextRequest request, OnText on_text, OnDone on_done) {
  // What is learned for later runs is written when the request is over and nobody else waits.
  const std::string salt = request.speculation.cache_salt;
  const std::string store = request.speculation.suffix_store;
  OnDone finish = [this, salt, store, on_done = std::move(on_done)](RequestOutput output) {
    if (!store.empty() && requests_->size() == 0) {
      const Status saved = stores_.Save(salt, store);
      if (!saved.ok()) LogWarning("the suffix store was not saved: " + saved.error().message);
    }
    output.timings.load = load_seconds_;
    on_done(std::move(output));
  };
  return requests_->Add(std::move(request), Parts(), std::move(on_text), std::move(finish));
}

Status LoadedLlm::CheckStructuredOutput(const StructuredOutput& wanted) const {
  const auto grammar = grammars_->Compile(wanted);
  if (!grammar.ok()) return grammar.error();
  return Ok{};
}

bool LoadedLlm::Obeys(const StructuredOutput& wanted, std::string_view text) const {
  const auto grammar = grammars_->Compile(wanted);
  return grammar.ok() && hunch::Obeys(**grammar, tokenizer_->Encode(text, /*parse_special=*/false));
}

Status LoadedLlm::Check(const TextRequest& request) const {
  HUNCH_RETURN_IF_ERROR(
      CheckPrompt(request.prompt, max_model_len_, tokenizer_->vocab_size(), "shorten it"));
  HUNCH_RETURN_IF_ERROR(ValidateSamplingParams(request.params, tokenizer_->vocab_size()));
  if (request.params.structured_output != nullptr) {
    HUNCH_RETURN_IF_ERROR(CheckStructuredOutput(*request.params.structured_output));
  }
  return CheckSpeculation(request.speculation, drafts());
}

std::optional<DrafterKind> LoadedLlm::head_method() const {
  const DraftSides sides = drafts();
  if (sides.head == nullptr) return std::nullopt;
  return sides.head->kinds().front();
}

std::vector<PassTime> LoadedLlm::pass_times() const {
  std::vector<PassTime> times;
  for (int rows = 1; rows <= kMostPassTimes; ++rows) {
    times.push_back({rows, engine_->budget().PassSeconds(rows)});
  }
  return times;
}

// Reads nothing that the thread that steps may write, but for the drafts that are there.
Result<std::unique_ptr<PreparedSwap>> LoadedLlm::PrepareSwap(const SpeculativeConfig& config) {
  auto swap = std::make_unique<LoadedSwap>(config);
  LlmOptions options = options_;
  NameDrafts({&config, 1}, options);
  const DraftSides current = drafts();
  DraftSides& sides = swap->drafts;
  HUNCH_ASSIGN_OR_RETURN(sides, OpenDraftSides(options, planned_, *tokenizer_, current));
  // What the configuration has no use for may be of use to requests that say so themselves.
  if (sides.model == nullptr) sides.model = current.model;
  if (sides.head == nullptr && !config.UsesHead()) sides.head = current.head;
  HUNCH_RETURN_IF_ERROR(CheckSpeculation(config, sides));
  HUNCH_RETURN_IF_ERROR(LoadSidesBeside(options, current, max_model_len_, *model_, pool_, sides));
  if (!config.suffix_store.empty()) {
    HUNCH_ASSIGN_OR_RETURN(swap->suffix_store, stores_.ReadSuffixStore(config.suffix_store));
  }
  if (!config.ngram_cache.empty()) {
    HUNCH_ASSIGN_OR_RETURN(swap->ngram_table, stores_.ReadTable(config.ngram_cache));
  }
  return std::unique_ptr<PreparedSwap>(std::move(swap));
}

// The drafters of running requests keep the draft model and the head that they use.
void LoadedLlm::Swap(std::unique_ptr<PreparedSwap> swap) {
  auto& loaded = static_cast<LoadedSwap&>(*swap);
  SetDrafterShares(loaded.drafts);
  {
    std::lock_guard lock(drafts_mutex_);
    drafts_ = std::move(loaded.drafts);
  }
  const SpeculativeConfig& config = loaded.config;
  if (loaded.suffix_store) {
    stores_.AddSuffixStore(config.cache_salt, config.suffix_store, std::move(loaded.suffix_store));
  }
  if (loaded.ngram_table) stores_.AddTable(config.ngram_cache, std::move(loaded.ngram_table));
  requests_->Swap(config, Parts());
}

Status LoadedLlm::SwapSpeculation(const SpeculativeConfig& config) {
  HUNCH_ASSIGN_OR_RETURN(auto swap, PrepareSwap(config));
  Swap(std::move(swap));
  return Ok{};
}

}  // namespace

Result<std::unique_ptr<Llm>> Llm::Load(const LlmOptions& options) {
  const int threads = options.threads > 0 ? options.threads : AvailableCpus();
  auto llm = std::make_unique<LoadedLlm>(threads);
  HUNCH_RETURN_IF_ERROR(llm->Init(options));
  return std::unique_ptr<Llm>(std::move(llm));
}

}  // namespace hunch
