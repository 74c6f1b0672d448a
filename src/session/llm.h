// Llm: a loaded model (and draft model and head), its tokenizer and chat template, and the text
// side of requests: template, encode, submit, stream decode, stop strings, cancel.
//
// Thread safety: requests run on one thread at a time, that which calls Generate, or Start and
// Step. What any thread may call meanwhile says so. AsyncLlm (async_llm.h) takes requests from
// everywhere.
#ifndef HUNCH_SESSION_LLM_H_
#define HUNCH_SESSION_LLM_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/engine_totals.h"
#include "hunch/sampling_params.h"
#include "kernels/ops.h"
#include "sched/cost_curve.h"
#include "seq/types.h"
#include "tokenizer/tokenizer.h"

namespace hunch {

enum class DrafterKind {
  kNgram,
  kSuffix,
  kNgramCache,
  kTokenRecycling,
  kLookahead,
  kDraftModel,
  kEagle3,
  kEagle2,
  kEagle,
  kMedusa,
};

// Whether it runs a draft model or a head; a head.
constexpr bool RunsModel(DrafterKind kind) { return kind >= DrafterKind::kDraftModel; }
constexpr bool RunsHead(DrafterKind kind) { return kind > DrafterKind::kDraftModel; }

// As the name of a head: none, not even a shipped one.
inline constexpr std::string_view kNoHead = "none";

// Which drafters guess: none, those that Hunch chooses, or a list whose trees are merged.
class DraftMethod {
 public:
  DraftMethod() = default;  // none
  DraftMethod(DrafterKind kind) : drafters_{kind} {}
  static DraftMethod Auto() {
    DraftMethod method;
    method.automatic_ = true;
    return method;
  }
  void Add(DrafterKind kind) { drafters_.push_back(kind); }

  bool none() const { return !automatic_ && drafters_.empty(); }
  bool automatic() const { return automatic_; }
  bool Has(DrafterKind kind) const {
    return std::find(drafters_.begin(), drafters_.end(), kind) != drafters_.end();
  }
  const std::vector<DrafterKind>& drafters() const { return drafters_; }  // of a list
  bool operator==(const DraftMethod&) const = default;

 private:
  bool automatic_ = false;
  std::vector<DrafterKind> drafters_;
};
// "none", "auto", or drafters joined by '+', each once. The error lists them.
Result<DraftMethod> ParseDraftMethod(std::string_view name);
std::string DraftMethodName(const DraftMethod& method);
std::string_view DrafterKindName(DrafterKind kind);
std::string DraftMethodChoices();  // "none, auto, or a list of ngram, ... joined by '+'"

enum class SpeculationPolicy { kDefault, kGoodput, kFixed, kThreshold };

struct SpeculativeConfig {
  DraftMethod method;
  // GGUF of a draft model, for such a method; auto uses it too. Or that of a head, as `head`.
  std::string model;
  // GGUF of a head, for such a method; auto uses it too. "": the shipped one that fits best;
  // kNoHead.
  std::string head;
  std::string draft_quantization;  // how it is loaded: LlmOptions
  std::string draft_vocab;
  int num_speculative_tokens = 0;  // most guesses a step, 1..64; 0: as many as pay
  // Default: fixed when num_speculative_tokens is given, else goodput.
  SpeculationPolicy policy = SpeculationPolicy::kDefault;
  // Warn once below this share; 0: never; -1: 0.5, and never with auto, which nobody has to mend.
  float acceptance_warning = -1;
  int prompt_lookup_max = 4;  // longest n-gram looked up
  int prompt_lookup_min = 2;
  int lookahead_window = 5;   // W of arXiv 2402.02057
  int lookahead_ngram = 4;    // its N
  int lookahead_guesses = 5;  // its G
  // suffix and token_recycling learn from, and for, the other requests with the same salt.
  bool shared_store = false;
  std::string cache_salt;    // also of the KV that requests share
  std::string suffix_store;  // file that keeps suffix's store between runs; implies shared_store
  std::string ngram_cache;   // file of `hunch ngram build`, for ngram_cache
  // Over whatever pays: no guesses while more sequences run, or past so many tokens of prompt and
  // output. 0: not set.
  int disable_by_batch_size = 0;
  int max_model_len = 0;

  bool NeedsDraftModel() const { return method.Has(DrafterKind::kDraftModel); }
  // Whether what `model` names is used.
  bool UsesModel() const {
    const auto& kinds = method.drafters();
    return !model.empty() &&
           (method.automatic() || std::any_of(kinds.begin(), kinds.end(), RunsModel));
  }
  // The first that is named and runs a head.
  std::optional<DrafterKind> HeadMethod() const;
  bool UsesHead() const { return HeadMethod() || (method.automatic() && head != kNoHead); }
};
Status ValidateSpeculativeConfig(const SpeculativeConfig& config);
// `config` for a request with a salt of its own, or without one: "". What such a request learns and
// profits from is not the file's.
SpeculativeConfig WithCacheSalt(SpeculativeConfig config, const std::string& cache_salt);

// "auto" (f16), "f16", "q8_0", "f32". The error lists them.
Result<KvType> ParseKvCacheDtype(std::string_view name);
std::string_view KvCacheDtypeName(KvType type);

struct LlmOptions {
  std::string model;               // GGUF of the target
  std::string draft_model;         // or of a head, as `head`; "": none. Loaded and checked
  std::string draft_quantization;  // "": as in its file; "q4_0": matrices of more bits become Q4_0
  std::string draft_vocab;  // file of `hunch vocab count`: its output matrix is cut to these tokens
  // GGUF of a head; kNoHead; "": that of `heads` which fits the target best, and where there is
  // none, or no memory for it, none.
  std::string head;
  // "" is a head for this method then, or an error.
  std::optional<DrafterKind> head_method;
  std::string heads;      // folder of the heads that are shipped; "": there are none
  int threads = 0;        // 0: what affinity and cgroup quota give
  int max_model_len = 0;  // 0: the model's own context, at most 32768 and what memory allows
  int max_num_seqs = 1;
  int max_num_batched_tokens = 0;        // rows of a pass; 0: as many as it can have
  bool enable_prefix_caching = false;    // prompts that begin alike are read once; no bit changes
  KvType kv_cache_dtype = KvType::kF16;  // of the target, its draft model and its head
  // What is committed is kept for learn_source(), but for audits and requests with a cache_salt;
  // there is a head then.
  bool learn = false;
  // What passes took on this machine with this model, with ascending rows; empty: not known.
  std::vector<PassTime> pass_times;
};
// Says in `options` which draft model and head these configurations guess with. Of those that name
// different ones, the last draft model and the first head count.
void NameDrafts(std::span<const SpeculativeConfig> configs, LlmOptions& options);

struct Timings {  // seconds
  double load = 0;
  double prefill = 0;  // submit to the first token
  double decode = 0;   // first token to the last
};

struct SpeculationStats {
  DraftMethod method;
  int64_t drafts = 0;                          // verify passes that had at least one guess
  int64_t draft_tokens = 0;                    // guesses verified
  int64_t accepted_tokens = 0;                 // guesses accepted and committed
  std::vector<int64_t> accepted_per_position;  // by depth in the draft
  TreeCounts places;                           // guesses by depth and rank among siblings
  int64_t target_passes = 0;  // decode passes of the target (prompt passes not counted)
  int64_t decode_tokens = 0;  // tokens that those passes gave
  int64_t drafter_errors = 0;
  int64_t fallbacks = 0;  // times that the budget went back to plain decoding
  int64_t probes = 0;     // steps spent on finding out whether guessing pays again
  double draft_seconds = 0;
  double target_seconds = 0;  // of the decode passes
  double plain_seconds = 0;   // what one-row passes for the same tokens would have taken
  std::vector<DrafterStats> drafters;

  // accepted / drafted; -1 when nothing was drafted (there is no such ratio).
  double acceptance_rate() const;
  double mean_accepted_length() const;  // 1 + accepted / drafts, as in vLLM; 1 without drafts
  double tokens_per_pass() const;       // decode_tokens / target_passes; 0 without passes
  double draft_throughput() const;      // guesses verified per second of drafting; 0: none
  double target_throughput() const;     // tokens per second of the target's passes; 0: none
  // plain_seconds / (target_seconds + draft_seconds); 0 without passes.
  double speedup() const;
  // (time saved - time spent on drafting) / time spent on drafting; 0 when no time was spent.
  double return_on_drafting() const;
  void Add(const SpeculationStats& other);  // sums; `method` stays
};

using RequestId = int64_t;

struct TextRequest {
  std::vector<TokenId> prompt;
  SamplingParams params;
  SpeculativeConfig speculation;
  bool trace_steps = false;      // its deltas say what the steps did
  bool own_speculation = false;  // it asked for that itself: a swap for all leaves it alone
  bool background = false;       // an audit (EngineRequest)
  std::string id = {};           // names it in logs
};

// [prompt tokens]; null unless prompt_logprobs were asked for.
using PromptChoices = std::shared_ptr<const std::vector<TokenChoice>>;

struct RequestOutput {
  std::string text;
  std::vector<TokenId> token_ids;     // includes the end token or the tokens of a stop string
  std::vector<TokenChoice> logprobs;  // one per token when asked for
  std::vector<bool> guessed;          // per token: it was an accepted guess
  PromptChoices prompt_logprobs;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  // of them, found in the KV cache
  FinishReason finish_reason = FinishReason::kNone;
  Timings timings;
  SpeculationStats speculation;
};

// What a pass that decodes did for one request.
struct StepTrace {
  struct Guess {
    TokenId token;
    int32_t parent;   // an earlier guess; -1: it follows the text so far
    uint8_t drafter;  // of `drafters`
  };
  std::vector<std::string> drafters;
  std::vector<Guess> guesses;
  std::vector<int32_t> accepted;  // of them, from the first on; the target's own token follows
  int tokens = 0;                 // that it gave
  double pass_seconds = 0;
  double plain_seconds = 0;  // what one-row passes for its tokens would have taken
};

struct TextDelta {
  std::string text;                        // valid UTF-8
  bool guessed;                            // the token that completed it was an accepted guess
  std::optional<TokenChoice> choice = {};  // that token, if it is text and logprobs were asked for
  // The pass that gave the token, and which one it was of the pass's; null for a request's first
  // token and unless trace_steps.
  std::shared_ptr<const StepTrace> step = {};
  int place = 0;
  PromptChoices prompt_logprobs = {};  // with the first delta only
};
// Called as text becomes certain. Returning false cancels the request.
using OnText = std::function<bool(const TextDelta&)>;
// The request is over.
using OnDone = std::function<void(RequestOutput)>;

// What PrepareSwap made.
struct PreparedSwap {
  explicit PreparedSwap(SpeculativeConfig with) : config(std::move(with)) {}
  virtual ~PreparedSwap() = default;

  SpeculativeConfig config;
};

// What a chat's prompt is made of, beside its messages.
struct ChatTurn {
  nlohmann::ordered_json tools = nullptr;  // an array as OpenAI has it; null: none
  std::string answer_start = {};  // what the answer begins with, as the template's own text
  int64_t now = -1;               // for templates that tell the date: seconds since 1970; -1: now
};

class LearnSource;

class Llm {
 public:
  static Result<std::unique_ptr<Llm>> Load(const LlmOptions& options);
  virtual ~Llm() = default;

  // Renders the chat template over messages [{"role", "content"}, ...] and encodes it: special
  // tokens are parsed in the template's own text only. Any thread.
  Result<std::vector<TokenId>> EncodeChat(const nlohmann::ordered_json& messages) const {
    return EncodeChatTurn(messages, {});
  }
  // An error if the template prints nothing of the tools. Any thread.
  virtual Result<std::vector<TokenId>> EncodeChatTurn(const nlohmann::ordered_json& messages,
                                                      const ChatTurn& turn) const = 0;
  // A raw completion prompt: BOS if the model wants one; special tokens in it are parsed. Any
  // thread.
  virtual Result<std::vector<TokenId>> EncodeRaw(std::string_view text) const = 0;
  virtual bool has_chat_template() const = 0;

  // Errors: empty or too long prompt, parameters out of range, a structured output that cannot be
  // had, a drafter that was not loaded.
  virtual Result<RequestOutput> Generate(std::span<const TokenId> prompt,
                                         const SamplingParams& params,
                                         const SpeculativeConfig& speculation,
                                         const OnText& on_text) = 0;

  // Several requests at once. Start adds one to those that run; errors as Generate's. Step runs one
  // step for all of them and hands over those that are over; false: none was running. Cancel has a
  // request handed over by the next Step with what there is; nothing happens when it is over.
  virtual Result<RequestId> Start(TextRequest request, OnText on_text, OnDone on_done) = 0;
  virtual bool Step() = 0;
  virtual void Cancel(RequestId id) = 0;
  // Whether this can be asked for; the reason why not. Reading it may take a second, after which it
  // is known, to Start too. Any thread.
  virtual Status CheckStructuredOutput(const StructuredOutput& wanted) const = 0;
  // Whether a text is as `wanted` says; no text is where that cannot be had. Any thread.
  virtual bool Obeys(const StructuredOutput& wanted, std::string_view text) const = 0;
  // The errors that Start would give for the request itself. Any thread.
  virtual Status Check(const TextRequest& request) const = 0;

  // Hot swap, in two parts. PrepareSwap loads and checks all that `config` needs, which may take
  // seconds, beside what runs: on any thread, one call at a time. An error changes nothing. Swap is
  // quick, on the thread that steps (OnText too): from their next step on the running requests
  // guess as the configuration says, whatever they were started with, but for audits and those with
  // their own_speculation; and the draft model and the head that it guesses with are those of later
  // requests. No text changes.
  virtual Result<std::unique_ptr<PreparedSwap>> PrepareSwap(const SpeculativeConfig& config) = 0;
  virtual void Swap(std::unique_ptr<PreparedSwap> swap) = 0;
  // Both.
  virtual Status SwapSpeculation(const SpeculativeConfig& config) = 0;

  // Null unless LlmOptions::learn.
  virtual LearnSource* learn_source() { return nullptr; }

  // Any thread.
  virtual const Tokenizer& tokenizer() const = 0;
  virtual int max_model_len() const = 0;
  virtual int threads() const = 0;
  virtual double load_seconds() const = 0;
  // What the head that is loaded guesses as; nullopt: there is none.
  virtual std::optional<DrafterKind> head_method() const = 0;
  // What a pass of 1 to kMostPassTimes rows takes, as far as it is known by now, with ascending
  // rows.
  virtual std::vector<PassTime> pass_times() const = 0;
  // What was done since it was loaded, and the share of the KV blocks that sequences hold now. On
  // the thread that steps.
  virtual const EngineTotals& totals() const = 0;
  virtual double kv_usage() const = 0;
  static constexpr int kMostPassTimes = 64;
};

// What `inspect` shows and loading checks. Sizes in bytes.
struct MemoryPlan {
  uint64_t target_weights = 0, draft_weights = 0, head_weights = 0;
  uint64_t kv = 0, draft_kv = 0, head_kv = 0;
  uint64_t scratch = 0;
  uint64_t program = 0;    // code, vocabulary, what is being read of the file
  uint64_t available = 0;  // free memory or what the cgroup leaves
  uint64_t total() const {
    return target_weights + draft_weights + head_weights + kv + draft_kv + head_kv + scratch +
           program;
  }
};

struct ModelReport {
  std::string path, architecture, name;
  uint64_t file_bytes = 0;
  int64_t parameters = 0;
  std::vector<std::pair<std::string, int>> tensor_types;  // type name -> number of tensors
  int layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, vocab_rows = 0;
  int context_length = 0;
  std::string tokenizer_model, pre_tokenizer;
  int vocab_size = 0;
  std::vector<std::pair<TokenId, std::string>> end_tokens;
  bool has_chat_template = false;
  DrafterKind drafter = DrafterKind::kDraftModel;  // what it guesses as, beside a target
};

struct InspectReport {
  ModelReport target;
  std::vector<ModelReport> draft;     // a draft model, a head, both or none
  std::string vocabulary_difference;  // empty: they fit the target
  int max_model_len = 0, max_num_seqs = 0;
  MemoryPlan memory;
  std::string kv_cache_dtype;
  uint64_t kv_bytes_per_token = 0;  // of the target
  // What the caches would take as each smaller type, largest first.
  std::vector<std::pair<std::string, uint64_t>> smaller_caches;
};

// Reads headers only.
Result<InspectReport> Inspect(const LlmOptions& options);

}  // namespace hunch

#endif  // HUNCH_SESSION_LLM_H_
