// Api: the routes of the server and what each answers. Belongs to the I/O thread, but for Drain.
#ifndef HUNCH_SERVER_API_H_
#define HUNCH_SERVER_API_H_

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "server/answer_format.h"
#include "server/api_error.h"
#include "server/chat_request.h"
#include "server/completion_request.h"
#include "server/http.h"
#include "session/async_llm.h"

namespace hunch {

struct ApiOptions {
  std::vector<std::string> model_names;  // at least one; answers carry the first
  std::string api_key;                   // "": everybody may ask
  SpeculativeConfig speculation;         // of requests that say nothing else
  std::string fingerprint;
};

class Api : public HttpHandler {
 public:
  // `llm` must outlive the API and its answers.
  Api(AsyncLlm& llm, ApiOptions options);

  void Handle(HttpRequest request, std::shared_ptr<Reply> reply) override;
  HttpResponse Refuse(int status, std::string_view message) override;
  // From now on, from any thread: no new work, and /health says so.
  void Drain() { draining_ = true; }

 private:
  using ReplyTo = std::shared_ptr<Reply>;
  struct Route;

  bool Allowed(const HttpRequest& request) const;
  void Health(const HttpRequest& request, const ReplyTo& reply);
  void Models(const HttpRequest& request, const ReplyTo& reply);
  void Chat(const HttpRequest& request, const ReplyTo& reply);
  void Completions(const HttpRequest& request, const ReplyTo& reply);
  void Tokenize(const HttpRequest& request, const ReplyTo& reply);
  void Detokenize(const HttpRequest& request, const ReplyTo& reply);

  std::optional<ApiError> CheckModel(const std::string& name) const;
  Json ModelJson(const std::string& name) const;
  AnswerHead MakeHead(std::string_view prefix, const GenerationFields& common);
  // The requests of one prompt's n choices. Errors: those of Llm::Check, before any is made.
  Status AddChoices(const std::vector<TokenId>& prompt, const GenerationFields& common,
                    uint64_t seed, std::vector<TextRequest>& out) const;
  // Of a request for so many prompts' choices, which a queue of any state could not hold.
  std::optional<ApiError> CheckRoom(size_t prompts, int n) const;
  Result<std::vector<TokenId>> EncodePrompt(const PromptText& prompt) const;

  static const std::vector<Route>& Routes();

  AsyncLlm& llm_;
  ApiOptions options_;
  int64_t started_;  // seconds since 1970
  std::random_device random_;
  std::atomic<bool> draining_ = false;
};

}  // namespace hunch

#endif  // HUNCH_SERVER_API_H_
