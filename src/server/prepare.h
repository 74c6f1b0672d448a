// From the body of a POST to what answers it: JSON to types, text to tokens, everything checked. It
// may take a while for a long text, so it is not done on the I/O thread. Not thread safe.
#ifndef HUNCH_SERVER_PREPARE_H_
#define HUNCH_SERVER_PREPARE_H_

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "server/answer.h"
#include "server/api_error.h"
#include "server/chat_request.h"
#include "server/completion_request.h"
#include "server/generation_fields.h"
#include "server/http.h"
#include "session/async_llm.h"
#include "session/learn_stats.h"

namespace hunch {

struct ApiOptions {
  std::vector<std::string> model_names;  // at least one; answers carry the first
  std::string api_key;                   // "": everybody may ask
  SpeculativeConfig speculation;         // of requests that say nothing else, until it is swapped
  std::string fingerprint;
  std::vector<std::string> allowed_origins;   // whose pages may read answers (cors.h)
  std::function<LearnStats()> learning = {};  // any thread; empty: it does not learn
};

// 404 if it is not one of `names`; "" means the first.
std::optional<ApiError> CheckModel(const std::vector<std::string>& names, const std::string& name);

// Sequences to run, and how their text is written.
struct PreparedAnswer {
  AnswerOptions options;
  std::unique_ptr<AnswerFormat> format;
  std::vector<TextRequest> requests;
};
using Prepared = std::variant<HttpResponse, PreparedAnswer>;

class Preparer {
 public:
  // Both must outlive it. Of `llm` it uses what any thread may.
  Preparer(const AsyncLlm& llm, const ApiOptions& options) : llm_(llm), options_(options) {}

  Prepared Chat(const HttpRequest& request);
  Prepared Completions(const HttpRequest& request);
  Prepared Tokenize(const HttpRequest& request);
  Prepared Detokenize(const HttpRequest& request);

 private:
  // The errors of all routes: of the model's name, and of more sequences than a queue in any state
  // could hold.
  std::optional<ApiError> CheckModelAndRoom(const GenerationFields& common, size_t prompts) const;
  // What the answer must look like cannot be had.
  std::optional<ApiError> CheckOutput(const GenerationFields& common) const;
  // Has the answer's form include the calls that it may have. The errors of that form, and of all
  // that it is made of.
  std::optional<ApiError> AddCallsToOutput(ChatRequest& chat) const;
  // `has_form`: text without the tags is what the request said that it must look like.
  ToolCallOptions ParserOptions(const ToolFields& tools, bool has_form) const;
  // Names the answer in `head`, and says in `options` how it is sent. An answer to a request that
  // resumes a stream has the name of that stream's.
  std::optional<ApiError> NameAnswer(std::string_view prefix, const HttpRequest& request,
                                     const Json& body, const GenerationFields& common,
                                     size_t choices, AnswerHead& head, AnswerOptions& options);
  // The requests of one prompt's n choices. Errors: those of Llm::Check, before any is made.
  Status AddChoices(const std::vector<TokenId>& prompt, const GenerationFields& common,
                    const std::string& id, uint64_t seed, std::vector<TextRequest>& out) const;
  Result<std::vector<TokenId>> EncodePrompt(const PromptText& prompt) const;

  const AsyncLlm& llm_;
  const ApiOptions& options_;
  std::random_device random_;
};

}  // namespace hunch

#endif  // HUNCH_SERVER_PREPARE_H_
