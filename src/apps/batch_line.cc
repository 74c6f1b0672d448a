#include "apps/batch_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/fnv.h"
#include "base/utf8.h"
#include "session/json_text.h"

namespace hunch {
namespace {

constexpr std::string_view kIdStart = "batch_req_";
constexpr size_t kIdDigits = 16;
constexpr std::string_view kLineStart = R"({"id":"batch_req_)";  // as DumpJson writes it
constexpr std::array<std::string_view, 2> kPaths = {"/v1/chat/completions", "/v1/completions"};

ApiError Wrong(std::string_view field, std::string message) {
  return {.message = std::move(message), .param = std::string(field)};
}

ApiError WrongKind(std::string_view field, std::string_view wanted, const Json& value) {
  return Wrong(field, fmt::format("\"{}\" must be {}, not {}", field, wanted,
                                  value.is_null() ? "absent" : JsonKind(value)));
}

const Json& Field(const Json& object, const char* name) {
  static const Json kNone;
  const auto found = object.find(name);
  return found == object.end() ? kNone : *found;
}

std::optional<ApiError> ReadText(const Json& object, const char* name, std::string& out) {
  const Json& value = Field(object, name);
  if (!value.is_string()) return WrongKind(name, "a string", value);
  out = value.get<std::string>();
  if (out.empty()) return Wrong(name, fmt::format("\"{}\" is empty", name));
  return {};
}

std::optional<ApiError> ReadBody(const Json& object, const std::string& custom_id,
                                 std::string& out) {
  const Json& given = Field(object, "body");
  if (!given.is_object()) return WrongKind("body", "an object", given);
  if (Field(given, "stream") == Json(true)) {
    return Wrong("stream", "a line of a batch cannot be streamed: leave \"stream\" out");
  }
  Json body = given;
  // Of 53 bits, as the server draws them: every reader of JSON keeps those.
  if (Field(body, "seed").is_null()) body["seed"] = Fnv64(custom_id) >> 11;
  out = DumpJson(body);
  return {};
}

std::optional<ApiError> ReadRequest(const Json& object, BatchRequest& out) {
  std::string method;
  if (auto error = ReadText(object, "method", method)) return error;
  if (method != "POST") {
    return Wrong("method", fmt::format("\"method\" must be \"POST\", not {}", Quote(method)));
  }
  if (auto error = ReadText(object, "url", out.path)) return error;
  if (std::find(kPaths.begin(), kPaths.end(), out.path) == kPaths.end()) {
    return Wrong("url", fmt::format("\"url\" is {}: a batch takes {}", Quote(out.path),
                                    fmt::join(kPaths, " and ")));
  }
  return ReadBody(object, out.custom_id, out.body);
}

std::string Line(uint64_t id, Json custom_id, Json response, Json error) {
  const Json line = {{"id", BatchIdText(id)},
                     {"custom_id", std::move(custom_id)},
                     {"response", std::move(response)},
                     {"error", std::move(error)}};
  return DumpJson(line) + '\n';
}

}  // namespace

std::variant<BatchRequest, BatchRefusal> ParseBatchLine(std::string_view text) {
  BatchRefusal refusal;
  const Result<Json> object = ParseJsonObject(text);
  if (!object.ok()) {
    refusal.error = {.message = object.error().message, .code = "invalid_json_line"};
    return refusal;
  }
  BatchRequest request;
  auto error = ReadText(*object, "custom_id", request.custom_id);
  if (!error) {
    refusal.custom_id = request.custom_id;
    error = ReadRequest(*object, request);
  }
  if (!error) return request;
  error->code = "invalid_line";
  refusal.error = std::move(*error);
  return refusal;
}

std::string BatchIdText(uint64_t id) { return fmt::format("{}{:016x}", kIdStart, id); }

std::optional<DoneLine> ParseDoneLine(std::string_view text) {
  const Result<Json> object = ParseJsonObject(text);
  if (!object.ok()) return {};
  const Json& id = Field(*object, "id");
  if (!id.is_string()) return {};
  const std::string name = id.get<std::string>();
  if (!name.starts_with(kIdStart)) return {};
  const std::string digits = name.substr(kIdStart.size());
  if (digits.size() != kIdDigits ||
      digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return {};
  }
  DoneLine done = {std::stoull(digits, nullptr, 16), ""};
  const Json& response = Field(*object, "response");
  if (!response.is_object()) return done;
  const Json& body = Field(response, "body");
  if (!body.is_object()) return done;
  const Json& fingerprint = Field(body, "system_fingerprint");
  if (fingerprint.is_string()) done.fingerprint = fingerprint.get<std::string>();
  return done;
}

bool MayBeTornLine(std::string_view text) {
  const size_t common = std::min(text.size(), kLineStart.size());
  return text.substr(0, common) == kLineStart.substr(0, common);
}

std::string AnsweredLine(uint64_t id, const std::string& custom_id, const HttpResponse& response) {
  Result<Json> body = ParseJson(response.body);
  Json answer = {{"status_code", response.status},
                 {"request_id", fmt::format("req_{:016x}", id)},
                 {"body", body.ok() ? std::move(*body) : Json(response.body)}};
  return Line(id, custom_id, std::move(answer), nullptr);
}

std::string RefusedLine(uint64_t id, const BatchRefusal& refusal) {
  Json custom_id = refusal.custom_id ? Json(*refusal.custom_id) : Json(nullptr);
  return Line(id, std::move(custom_id), nullptr, ErrorJson(refusal.error)["error"]);
}

}  // namespace hunch
