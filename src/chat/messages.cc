#include "chat/messages.h"

#include <fmt/format.h>

#include <string>

namespace hunch {
namespace {

using Json = nlohmann::ordered_json;

Error Invalid(size_t index, std::string_view what) {
  return {ErrorCode::kInvalidArgument, fmt::format("messages[{}]{}", index, what)};
}

// The text of one part of a content array, added to `text`.
Status AppendPart(const Json& part, size_t message, size_t index, std::string* text) {
  const auto place = fmt::format(".content[{}]", index);
  if (!part.is_object()) {
    return Invalid(message,
                   place + " must be an object like {\"type\": \"text\", \"text\": \"...\"}");
  }
  const auto type = part.find("type");
  if (type == part.end() || !type->is_string()) {
    return Invalid(message, place + ".type is missing or no string; only \"text\" is supported");
  }
  if (*type != "text") {
    return Invalid(message, fmt::format("{}.type is \"{}\"; only \"text\" is supported", place,
                                        type->get_ref<const std::string&>().substr(0, 40)));
  }
  const auto value = part.find("text");
  if (value == part.end() || !value->is_string()) {
    return Invalid(message, place + ".text must be a string");
  }
  *text += value->get_ref<const std::string&>();
  return Ok{};
}

bool HasToolCalls(const Json& message) {
  const auto calls = message.find("tool_calls");
  return calls != message.end() && calls->is_array() && !calls->empty();
}

Result<std::string> ContentText(const Json& message, size_t index) {
  const auto content = message.find("content");
  if (content == message.end() || content->is_null()) {
    if (message["role"] == "assistant" && HasToolCalls(message)) return std::string();
    return Invalid(index,
                   ".content is missing or null; only an assistant message with tool_calls may "
                   "leave it out");
  }
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) {
    return Invalid(index, fmt::format(".content must be a string or an array of text parts, not {}",
                                      content->type_name()));
  }
  std::string text;
  for (size_t i = 0; i < content->size(); ++i) {
    HUNCH_RETURN_IF_ERROR(AppendPart((*content)[i], index, i, &text));
  }
  return text;
}

}  // namespace

Result<Json> NormalizeMessages(const Json& messages) {
  if (!messages.is_array()) {
    return Error{ErrorCode::kInvalidArgument, "messages must be an array"};
  }
  Json normalized = Json::array();
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].is_object()) return Invalid(i, " must be an object");
    const auto role = messages[i].find("role");
    if (role == messages[i].end() || !role->is_string()) {
      return Invalid(i, ".role is missing or no string");
    }
    HUNCH_ASSIGN_OR_RETURN(std::string text, ContentText(messages[i], i));
    Json message = messages[i];
    message["content"] = std::move(text);
    normalized.push_back(std::move(message));
  }
  return normalized;
}

}  // namespace hunch
