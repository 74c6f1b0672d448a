// Fuzz target: any bytes as the body of a request. Nothing may crash, hang or leak; what is refused
// is refused with a message, and the error object is JSON whatever the request held.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "server/chat_request.h"
#include "server/completion_request.h"
#include "server/json_body.h"

namespace {

void CheckError(const std::optional<hunch::ApiError>& error) {
  if (!error) return;
  HUNCH_CHECK_EQ(error->status, 400);
  HUNCH_CHECK(!error->message.empty());
  const std::string text = hunch::DumpJson(hunch::ErrorJson(*error));
  HUNCH_CHECK(hunch::ParseJsonObject(text).ok()) << text;
}

void CheckRanges(const hunch::GenerationFields& common) {
  const hunch::SamplingParams& params = common.sampling;
  HUNCH_CHECK(params.temperature >= 0 && params.top_p > 0 && params.top_p <= 1);
  HUNCH_CHECK(params.max_tokens == -1 || params.max_tokens >= 1) << params.max_tokens;
  HUNCH_CHECK(common.n >= 1 && common.n <= hunch::GenerationFields::kMostChoices) << common.n;
}

void CheckTools(const hunch::ToolFields& tools, const hunch::OutputPtr& asked) {
  HUNCH_CHECK(tools.tools.is_null() || tools.tools.size() == tools.names.size());
  HUNCH_CHECK(tools.MayCall() || tools.AnswerStart().empty());
  HUNCH_CHECK(tools.ParserOptions().most_calls > 0);
  const auto output = tools.Output(asked);
  HUNCH_CHECK(output.ok() || !output.error().message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto body = hunch::ParseBody(text);
  if (!body.ok()) {
    HUNCH_CHECK(!body.error().message.empty());
    return 0;
  }
  hunch::ChatRequest chat;
  const auto chat_error = hunch::ReadChatRequest(*body, chat);
  CheckError(chat_error);
  if (!chat_error) CheckRanges(chat.common);
  if (!chat_error) CheckTools(chat.tools, chat.common.sampling.structured_output);
  hunch::CompletionRequest completion;
  const auto completion_error = hunch::ReadCompletionRequest(*body, completion);
  CheckError(completion_error);
  if (!completion_error) CheckRanges(completion.common);
  hunch::TokenizeRequest tokenize;
  CheckError(hunch::ReadTokenizeRequest(*body, tokenize));
  hunch::DetokenizeRequest detokenize;
  CheckError(hunch::ReadDetokenizeRequest(*body, detokenize));
  return 0;
}
