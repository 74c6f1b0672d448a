#include "apps/prompts_file.h"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "apps/read_text.h"
#include "session/json_text.h"

namespace hunch {
namespace {

Status ReadField(const Json& object, const char* key, std::string& out) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("\"{}\" must be a string", key)};
  }
  out = found->get<std::string>();
  return Ok{};
}

// Other keys are allowed: prompt files carry references and notes.
Result<BenchPrompt> ParseLine(std::string_view line) {
  HUNCH_ASSIGN_OR_RETURN(const Json object, ParseJsonObject(line));
  BenchPrompt prompt;
  HUNCH_RETURN_IF_ERROR(ReadField(object, "id", prompt.id));
  HUNCH_RETURN_IF_ERROR(ReadField(object, "category", prompt.category));
  HUNCH_RETURN_IF_ERROR(ReadField(object, "prompt", prompt.text));
  if (prompt.category.empty()) return Error{ErrorCode::kInvalidArgument, "\"category\" is empty"};
  if (prompt.text.empty()) return Error{ErrorCode::kInvalidArgument, "\"prompt\" is empty"};
  return prompt;
}

}  // namespace

Result<std::vector<BenchPrompt>> ReadPromptsFile(const std::string& path, int per_category) {
  HUNCH_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  std::istringstream file(text);
  std::vector<BenchPrompt> prompts;
  std::map<std::string, int> taken;
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Result<BenchPrompt> prompt = ParseLine(line);
    if (!prompt.ok()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{}:{}: {}; a line is {}", path, number, prompt.error().message,
                               R"({"id": "1", "category": "qa", "prompt": "..."})")};
    }
    if (per_category == 0 || taken[prompt->category]++ < per_category) {
      prompts.push_back(std::move(prompt).value());
    }
  }
  if (prompts.empty()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}: holds no prompts", path)};
  }
  return prompts;
}

}  // namespace hunch
