// How an answer is written as JSON: whole, or as the chunks of a stream. One AnswerFormat belongs
// to one request; not thread safe.
#ifndef HUNCH_SERVER_ANSWER_FORMAT_H_
#define HUNCH_SERVER_ANSWER_FORMAT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/tool_call_parser.h"
#include "session/json_text.h"
#include "session/llm.h"

namespace hunch {

struct AnswerOptions {
  int n = 1;  // choices of each prompt
  bool stream = false;
  bool include_usage = false;  // in a stream
  bool event_ids = false;      // a stream's events have ids
  // [choices] The events that the client has of an earlier stream; empty: none.
  std::vector<uint32_t> sent = {};
};

// What every object of an answer says.
struct AnswerHead {
  std::string id;
  int64_t created = 0;  // seconds since 1970
  std::string model;
  std::string fingerprint;
  uint64_t seed = 0;
};

// One sequence: choice i is the (i % n)-th of prompt i / n.
struct ChoiceOutput {
  RequestOutput output;
  std::vector<TokenChoice> logprobs;  // of its text's tokens; empty unless asked for
};

class AnswerFormat {
 public:
  explicit AnswerFormat(AnswerHead head) : head_(std::move(head)) {}
  virtual ~AnswerFormat() = default;

  const std::string& id() const { return head_.id; }
  // With the choices; the caller adds usage and timings.
  virtual Json Whole(const std::vector<ChoiceOutput>& choices) const = 0;
  // A choice's stream: what it begins with, what a delta adds, what it ends with (at least one
  // chunk). Each is a function of the choice's deltas so far, and so the same whenever the request
  // is answered.
  virtual std::vector<Json> First(int choice) = 0;
  virtual std::vector<Json> Delta(int choice, const TextDelta& delta) = 0;
  virtual std::vector<Json> Last(int choice, FinishReason reason) = 0;
  // No choices: what usage is sent with.
  Json Empty() const { return Chunk(Json::array()); }

 protected:
  // The fields that every object has, and these choices.
  Json Object(std::string_view object, Json choices) const;
  virtual Json Chunk(Json choices) const = 0;
  const AnswerHead& head() const { return head_; }

 private:
  AnswerHead head_;
};

// Of a chat that has tools.
struct AnswerTools {
  ToolCallOptions calls;
  std::string answer_start;  // what the prompt made the answer begin with
};

std::unique_ptr<AnswerFormat> MakeChatFormat(AnswerHead head, const Tokenizer& tokenizer,
                                             bool logprobs, std::optional<AnswerTools> tools = {});
// `echoes`: text before each choice; empty: none.
std::unique_ptr<AnswerFormat> MakeCompletionFormat(AnswerHead head, const Tokenizer& tokenizer,
                                                   bool logprobs, std::vector<std::string> echoes);

// {"prompt_tokens", "completion_tokens", "total_tokens"}: each prompt counts once for its n
// choices.
Json UsageJson(const std::vector<ChoiceOutput>& choices, int n);
// llama-server's names: prompt_n, prompt_ms, predicted_n, predicted_ms, draft_n,
// draft_n_accepted... Of several choices, which run side by side, times are the longest and counts
// sums.
Json TimingsJson(const std::vector<ChoiceOutput>& choices, int n);

// A log-probability as JSON can hold it: OpenAI's -9999 for none.
double JsonLogprob(float logprob);

}  // namespace hunch

#endif  // HUNCH_SERVER_ANSWER_FORMAT_H_
