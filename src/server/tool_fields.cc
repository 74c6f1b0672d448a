#include "server/tool_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "session/tagged_output.h"

namespace hunch {
namespace {

using Choice = ToolFields::Choice;

constexpr size_t kLongestName = 64;

bool IsFunctionName(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= kLongestName &&
         std::all_of(name.begin(), name.end(), allowed);
}

// The object `name` inside the one that `fields` reads; null: `fields` has the error.
const Json* Object(Fields& fields, std::string_view prefix, std::string_view name) {
  const Json* value = fields.Any(name);
  if (value != nullptr && value->is_object()) return value;
  fields.Fail(name, fmt::format("'{}{}' must be an object", prefix, name));
  return nullptr;
}

// Of `parameters`, which may be null, as what arguments can be held to: calls have objects only.
std::string SchemaOf(Fields& function, const std::string& prefix, const Json* parameters) {
  if (parameters == nullptr) return R"({"type": "object", "properties": {}})";
  if (const auto type = parameters->find("type"); type == parameters->end() || *type != "object") {
    function.Fail("parameters", fmt::format("'{}parameters' of a strict tool must have \"type\": "
                                            "\"object\"",
                                            prefix));
  }
  return DumpJson(*parameters);
}

// One more function of `out`.
void ReadFunction(Fields& function, const std::string& prefix, ToolFields& out) {
  std::string name;
  function.Text("name", name);
  if (!function.error() && !IsFunctionName(name)) {
    function.Fail("name", fmt::format("'{}name' is {}: it must have 1 to {} letters, digits, _ "
                                      "and -",
                                      prefix, Quote(name), kLongestName));
  }
  if (std::find(out.names.begin(), out.names.end(), name) != out.names.end()) {
    function.Fail("name", fmt::format("'{}name': another tool is called {}", prefix, Quote(name)));
  }
  std::string description;
  function.Text("description", description);
  const Json* parameters = function.Any("parameters");
  bool strict = false;
  function.Bool("strict", strict);
  std::string schema;
  if (parameters != nullptr && !parameters->is_object()) {
    function.Fail("parameters",
                  fmt::format("'{}parameters' must be an object: a JSON schema", prefix));
  } else if (strict) {
    schema = SchemaOf(function, prefix, parameters);
  }
  out.names.push_back(std::move(name));
  out.schemas.push_back(std::move(schema));
}

void ReadTool(Fields& fields, const Json& value, size_t index, ToolFields& out) {
  const std::string place = fmt::format("tools[{}]", index);
  if (!value.is_object()) return fields.Fail(place, fmt::format("'{}' must be an object", place));
  Fields tool(value, place + ".");
  std::string type;
  tool.Text("type", type);
  if (type != "function") {
    tool.Fail("type", fmt::format("'{}.type' must be \"function\"", place));
  }
  if (const Json* function = Object(tool, place + ".", "function")) {
    const std::string prefix = place + ".function.";
    Fields inner(*function, prefix);
    ReadFunction(inner, prefix, out);
    if (const auto& error = inner.Finish()) return fields.Fail(error->param, error->message);
  }
  if (const auto& error = tool.Finish()) return fields.Fail(error->param, error->message);
  out.tools.push_back(value);
  out.tools.back()["function"].erase("strict");  // it is for the server
}

void ReadNamedChoice(Fields& fields, const Json& value, ToolFields& out) {
  Fields choice(value, "tool_choice.");
  std::string type;
  choice.Text("type", type);
  if (type != "function") {
    choice.Fail("type", "'tool_choice.type' must be \"function\"");
  }
  if (const Json* function = Object(choice, "tool_choice.", "function")) {
    Fields inner(*function, "tool_choice.function.");
    inner.Text("name", out.named);
    if (std::find(out.names.begin(), out.names.end(), out.named) == out.names.end()) {
      inner.Fail("name", fmt::format("'tool_choice.function.name' is {}: no tool is called so",
                                     Quote(out.named)));
    }
    if (const auto& error = inner.Finish()) return fields.Fail(error->param, error->message);
  }
  if (const auto& error = choice.Finish()) return fields.Fail(error->param, error->message);
  out.choice = Choice::kNamed;
}

void ReadToolChoice(Fields& fields, ToolFields& out) {
  const Json* value = fields.Any("tool_choice");
  if (value == nullptr) return;
  if (value->is_object()) return ReadNamedChoice(fields, *value, out);
  if (*value == "none") {
    out.choice = Choice::kNone;
  } else if (*value == "required") {
    out.choice = Choice::kRequired;
    if (out.names.empty()) fields.Fail("tool_choice", "'tool_choice' requires a call, of no tools");
  } else if (*value != "auto") {
    fields.Fail("tool_choice",
                "'tool_choice' must be \"none\", \"auto\", \"required\", or {\"type\": "
                "\"function\", \"function\": {\"name\": ...}}");
  }
}

// One of an assistant's calls, at `place`.
void CheckCall(Fields& fields, const Json& value, const std::string& place) {
  const auto fail = [&](std::string_view name, std::string_view what) {
    fields.Fail(fmt::format("{}{}", place, name), fmt::format("{}{} {}", place, name, what));
  };
  const auto has_text = [](const Json& object, std::string_view name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string();
  };
  if (!value.is_object()) return fail("", "must be an object");
  if (!has_text(value, "id")) return fail(".id", "must be a string: the call's");
  const auto function = value.find("function");
  if (function == value.end() || !function->is_object()) {
    return fail(".function", "must be an object {\"name\", \"arguments\"}");
  }
  if (!has_text(*function, "name")) return fail(".function.name", "must be a string");
  const auto arguments = function->find("arguments");
  if (arguments == function->end() || !(arguments->is_string() || arguments->is_object())) {
    fail(".function.arguments", "must be the arguments' JSON as a string");
  }
}

}  // namespace

bool ToolFields::strict() const {
  return std::any_of(schemas.begin(), schemas.end(), [](const auto& s) { return !s.empty(); });
}

Result<OutputPtr> ToolFields::Output(const OutputPtr& asked) const {
  if (!MayCall() || (asked == nullptr && !strict())) return asked;
  // As the templates of Qwen and Hermes write a call.
  const std::string opener(ToolCallParser::kOpener), closer(ToolCallParser::kCloser);
  std::vector<TaggedSchema> tags;
  for (size_t i = 0; i < names.size(); ++i) {
    if (choice == Choice::kNamed && names[i] != named) continue;
    tags.push_back(
        {fmt::format("{}\n{{\"name\": \"{}\", \"arguments\": ", opener, names[i]),
         schemas[i].empty() ? R"({"type": "object", "additionalProperties": true})" : schemas[i],
         "}\n" + closer});
  }
  const TagUse use = !MustCall()  ? asked ? TagUse::kInstead : TagUse::kFree
                     : one_call() ? TagUse::kOne
                                  : TagUse::kOneOrMore;
  HUNCH_ASSIGN_OR_RETURN(StructuredOutput output,
                         TaggedOutput(tags, opener, use, asked ? *asked : StructuredOutput()));
  return std::make_shared<const StructuredOutput>(std::move(output));
}

ToolCallOptions ToolFields::ParserOptions() const {
  ToolCallOptions options = {.names = names};
  if (one_call()) options.most_calls = 1;
  return options;
}

std::string ToolFields::AnswerStart() const {
  if (strict()) return "";
  // As the templates of Qwen and Hermes write a call, and up to the name: behind the tag alone
  // Qwen2.5-Coder ends its turn. The space before the arguments is left to the model, whose tokens
  // hold it together with what follows.
  const std::string call = fmt::format("{}\n{{\"name\": \"", ToolCallParser::kOpener);
  switch (choice) {
    case Choice::kRequired:
      return call;
    case Choice::kNamed:
      return call + named + R"(", "arguments":)";
    default:
      return "";
  }
}

std::vector<std::string> ToolFields::Stops() const {
  // Output ends the answer where it is the call, and knows a string of the arguments from the end.
  if (!one_call() || (strict() && MustCall())) return {};
  return {std::string(ToolCallParser::kCloser)};
}

void ReadTools(Fields& fields, ToolFields& out) {
  const Json* value = fields.Any("tools");
  if (value == nullptr) return;
  if (!value->is_array()) return fields.Fail("tools", "'tools' must be an array");
  if (value->size() > ToolFields::kMostTools) {
    return fields.Fail("tools", fmt::format("'tools' has {} tools: at most {} are allowed",
                                            value->size(), ToolFields::kMostTools));
  }
  if (!value->empty()) out.tools = Json::array();
  for (size_t i = 0; i < value->size(); ++i) ReadTool(fields, (*value)[i], i, out);
}

void ReadToolFields(Fields& fields, ToolFields& out) {
  ReadTools(fields, out);
  ReadToolChoice(fields, out);
  fields.Bool("parallel_tool_calls", out.parallel);
  if (out.choice == Choice::kNone) out.tools = nullptr;
}

void CheckToolMessages(Fields& fields, const Json& messages) {
  for (size_t i = 0; i < messages.size(); ++i) {
    const Json& message = messages[i];
    const std::string place = fmt::format("messages[{}]", i);
    const auto id = message.find("tool_call_id");
    if (message["role"] == "tool" && (id == message.end() || !id->is_string())) {
      fields.Fail(place + ".tool_call_id",
                  place + ".tool_call_id must name the call that this is the result of");
    }
    const auto calls = message.find("tool_calls");
    if (calls == message.end() || calls->is_null()) continue;
    if (!calls->is_array()) {
      return fields.Fail(place + ".tool_calls", place + ".tool_calls must be an array");
    }
    for (size_t k = 0; k < calls->size(); ++k) {
      CheckCall(fields, (*calls)[k], fmt::format("{}.tool_calls[{}]", place, k));
    }
  }
}

}  // namespace hunch
