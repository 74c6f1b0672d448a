// The lines of `hunch batch`, in and out, in OpenAI's batch format. Pure functions.
//
// A line of the output names its line of the input by "id", which is made from that line's bytes:
// so a later run knows what is done, and whose output it has found.
#ifndef HUNCH_APPS_BATCH_LINE_H_
#define HUNCH_APPS_BATCH_LINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "server/api_error.h"
#include "server/http.h"

namespace hunch {

struct BatchRequest {
  std::string custom_id;
  std::string path;  // "/v1/chat/completions" or "/v1/completions"
  // JSON with a seed, so that a line has one text however often it is run: one that the custom_id
  // gives where the line names none.
  std::string body;
};

// Why a line is no request.
struct BatchRefusal {
  std::optional<std::string> custom_id;  // if that much could be read
  ApiError error;
};

std::variant<BatchRequest, BatchRefusal> ParseBatchLine(std::string_view text);

// "batch_req_" and 16 hexadecimal digits.
std::string BatchIdText(uint64_t id);
// The id of a line of the output, and what its answer says of the model ("": nothing).
struct DoneLine {
  uint64_t id = 0;
  std::string fingerprint;
};
// nullopt: no line that this program wrote.
std::optional<DoneLine> ParseDoneLine(std::string_view text);
// `text`, which has no end of line, may be the beginning of a line that this program wrote.
bool MayBeTornLine(std::string_view text);

// {"id", "custom_id", "response", "error"} and the end of the line. What the API answers, its
// errors too, is the response; a refusal has none, and OpenAI's error object.
std::string AnsweredLine(uint64_t id, const std::string& custom_id, const HttpResponse& response);
std::string RefusedLine(uint64_t id, const BatchRefusal& refusal);

}  // namespace hunch

#endif  // HUNCH_APPS_BATCH_LINE_H_
