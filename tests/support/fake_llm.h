// A model whose answers a test dictates: for what prints, counts and compares answers.
// Not thread safe.
#ifndef HUNCH_TESTS_SUPPORT_FAKE_LLM_H_
#define HUNCH_TESTS_SUPPORT_FAKE_LLM_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grammar/grammars.h"
#include "session/llm.h"
#include "support/byte_tokenizer.h"

namespace hunch {

struct FakeLlmScript {
  // Every answer: this text, then the end token.
  std::string answer = "one two three";
  // The answer to one prompt, after templating ("user: hi\n"), instead.
  std::map<std::string, std::string> answers;
  // Under these methods the token at this position comes out as '#': what must never happen.
  std::map<std::string, size_t> faults;  // by DraftMethodName
  // So does the first token of the request with this index.
  std::optional<size_t> faulty_call;
  // How long an answer takes, by DraftMethodName, ":N" after it for N guesses a step; else no time.
  std::map<std::string, double> seconds;
  std::function<void(double seconds)> on_seconds;  // told of them
  // Every second token of a method other than none is an accepted guess; false: none is.
  bool guesses_right = true;
  bool has_chat_template = true;
  bool has_tools = true;  // in the template
  // The dates that chats were told.
  std::shared_ptr<std::vector<int64_t>> nows = std::make_shared<std::vector<int64_t>>();
  std::optional<Error> swap_error;
  std::optional<Error> start_error;  // of Start
  int max_model_len = 1000;
  std::optional<DrafterKind> head_method;
  EngineTotals totals;
  std::vector<PassTime> pass_times = {{1, 0.125}, {2, 0.15}, {4, 0.2}, {8, 0.4}, {64, 3.2}};
  // Called before each token; what a test does in the middle of an answer.
  std::function<void(size_t position)> before_token;
};

class FakeLlm : public Llm {
 public:
  struct Call {
    std::string prompt;
    SamplingParams params;
    SpeculativeConfig speculation;
    bool swap;  // of speculation, no request
  };

  // Appends every request to `calls`, which outlives the model.
  FakeLlm(FakeLlmScript script, std::vector<Call>* calls)
      : script_(std::move(script)), calls_(calls) {}

  // "tools: NAME NAME\n", if there are any; "ROLE: CONTENT\n" for each message; the answer's start.
  Result<std::vector<TokenId>> EncodeChatTurn(const nlohmann::ordered_json& messages,
                                              const ChatTurn& turn) const override;
  Result<std::vector<TokenId>> EncodeRaw(std::string_view text) const override;
  bool has_chat_template() const override { return script_.has_chat_template; }
  Result<RequestOutput> Generate(std::span<const TokenId> prompt, const SamplingParams& params,
                                 const SpeculativeConfig& speculation,
                                 const OnText& on_text) override;
  // One token a step for every request.
  Result<RequestId> Start(TextRequest request, OnText on_text, OnDone on_done) override;
  bool Step() override;
  void Cancel(RequestId id) override;
  // As a real model with this tokenizer.
  Status CheckStructuredOutput(const StructuredOutput& wanted) const override;
  bool Obeys(const StructuredOutput& wanted, std::string_view text) const override;
  Status Check(const TextRequest& request) const override;
  Result<std::unique_ptr<PreparedSwap>> PrepareSwap(const SpeculativeConfig& config) override;
  void Swap(std::unique_ptr<PreparedSwap> swap) override;
  Status SwapSpeculation(const SpeculativeConfig& config) override;
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  int max_model_len() const override { return script_.max_model_len; }
  int threads() const override { return 2; }
  double load_seconds() const override { return 0.25; }
  std::optional<DrafterKind> head_method() const override { return script_.head_method; }
  std::vector<PassTime> pass_times() const override { return script_.pass_times; }
  const EngineTotals& totals() const override { return script_.totals; }
  double kv_usage() const override { return 0.25; }

 private:
  // A request that runs.
  struct Answer {
    RequestId id = 0;
    SamplingParams params;
    std::vector<TokenId> tokens;  // what it will say
    OnText on_text;
    OnDone on_done;
    bool cancelled = false;
    RequestOutput output;
  };

  std::string Text(std::span<const TokenId> tokens) const;
  Answer Begin(const TextRequest& request);
  // The next token; false: it was the last.
  bool Advance(Answer& answer);
  void Close(Answer& answer, const SpeculativeConfig& speculation);

  FakeLlmScript script_;
  RequestId next_id_ = 1;
  std::vector<std::unique_ptr<Answer>> running_;
  ByteTokenizer tokenizer_;
  std::unique_ptr<Grammars> grammars_ = std::make_unique<Grammars>(VocabularyOf(tokenizer_));
  std::vector<Call>* calls_;
};

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_FAKE_LLM_H_
