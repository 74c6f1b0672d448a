#include "server/output_fields.h"

#include <fmt/format.h>

#include <utility>

#include "base/utf8.h"

namespace hunch {
namespace {

using Kind = StructuredOutput::Kind;

// Collects what the fields say, and complains of the second that says something.
class Reader {
 public:
  Reader(Fields& fields, OutputFields& out) : fields_(fields), out_(out) {}

  void ReadResponseFormat();
  void ReadStructuredOutputs();
  void ReadGuided();

 private:
  void Take(Fields& fields, std::string_view prefix, std::string_view name, Kind kind,
            std::string text);
  // A string, or an object or array as text; absent: nothing.
  void TakeJson(Fields& fields, std::string_view prefix, std::string_view name, Kind kind);
  void TakeText(Fields& fields, std::string_view prefix, std::string_view name, Kind kind);
  void TakeObjectMode(Fields& fields, std::string_view prefix, std::string_view name);
  void ReadJsonSchema(Fields& format);
  void ReadTag(Fields& format, const Json& whole);
  void PassOn(Fields& inner);

  Fields& fields_;
  OutputFields& out_;
};

void Reader::Take(Fields& fields, std::string_view prefix, std::string_view name, Kind kind,
                  std::string text) {
  std::string field = fmt::format("{}{}", prefix, name);
  if (out_.wanted != nullptr) {
    return fields.Fail(name, fmt::format("'{}' and '{}' both say what the answer must look like: "
                                         "give one of them",
                                         field, out_.field));
  }
  out_.wanted = std::make_shared<const StructuredOutput>(StructuredOutput{kind, std::move(text)});
  out_.field = std::move(field);
}

void Reader::TakeJson(Fields& fields, std::string_view prefix, std::string_view name, Kind kind) {
  const Json* value = fields.Any(name);
  if (value == nullptr) return;
  const bool taken = value->is_string() || value->is_boolean() || value->is_structured();
  if (!taken) {
    return fields.Fail(name, fmt::format("'{}{}' must be JSON, or JSON as a string, not {}", prefix,
                                         name, JsonKind(*value)));
  }
  Take(fields, prefix, name, kind,
       value->is_string() ? value->get<std::string>() : DumpJson(*value));
}

void Reader::TakeText(Fields& fields, std::string_view prefix, std::string_view name, Kind kind) {
  std::string text;
  fields.Text(name, text);
  if (!text.empty()) Take(fields, prefix, name, kind, std::move(text));
}

void Reader::TakeObjectMode(Fields& fields, std::string_view prefix, std::string_view name) {
  bool wanted = false;
  fields.Bool(name, wanted);
  if (wanted) Take(fields, prefix, name, Kind::kJsonObject, "");
}

// An error of an object inside the request is the request's.
void Reader::PassOn(Fields& inner) {
  if (const auto& error = inner.Finish()) fields_.Fail(error->param, error->message);
}

void Reader::ReadJsonSchema(Fields& format) {
  constexpr std::string_view kPrefix = "response_format.json_schema.";
  const Json* value = format.Any("json_schema");
  if (value == nullptr || !value->is_object()) {
    return format.Fail("json_schema",
                       "'response_format.json_schema' must be an object with a name and a schema");
  }
  Fields inner(*value, std::string(kPrefix));
  std::string name;
  inner.Text("name", name);
  if (name.empty()) inner.Fail("name", fmt::format("'{}name' is missing", kPrefix));
  inner.Ignore("description");
  bool strict = false;
  inner.Bool("strict", strict);
  if (inner.Any("schema") == nullptr) {
    inner.Fail("schema", fmt::format("'{}schema' is missing", kPrefix));
  }
  TakeJson(inner, kPrefix, "schema", Kind::kJsonSchema);
  PassOn(inner);
}

void Reader::ReadTag(Fields& format, const Json& whole) {
  const Json* value = format.Any("format");
  if (value == nullptr || !value->is_object()) {
    return format.Fail("format", "'response_format.format' must be an object");
  }
  Take(format, "response_format.", "format", Kind::kStructuralTag, DumpJson(whole));
}

void Reader::ReadResponseFormat() {
  const Json* value = fields_.Any("response_format");
  if (value == nullptr) return;
  if (!value->is_object()) {
    return fields_.Fail("response_format", "'response_format' must be an object");
  }
  Fields format(*value, "response_format.");
  std::string type;
  format.Text("type", type);
  if (type == "json_object") {
    Take(format, "response_format.", "type", Kind::kJsonObject, "");
  } else if (type == "json_schema") {
    ReadJsonSchema(format);
  } else if (type == "structural_tag") {
    ReadTag(format, *value);
  } else if (type != "text") {
    format.Fail("type", fmt::format("'response_format.type' is {}: it must be text, json_object, "
                                    "json_schema or structural_tag",
                                    Quote(type)));
  }
  PassOn(format);
}

void Reader::ReadStructuredOutputs() {
  constexpr std::string_view kPrefix = "structured_outputs.";
  const Json* value = fields_.Any("structured_outputs");
  if (value == nullptr) return;
  if (!value->is_object()) {
    return fields_.Fail("structured_outputs", "'structured_outputs' must be an object");
  }
  Fields inner(*value, std::string(kPrefix));
  TakeJson(inner, kPrefix, "json", Kind::kJsonSchema);
  TakeText(inner, kPrefix, "regex", Kind::kRegex);
  TakeJson(inner, kPrefix, "choice", Kind::kChoice);
  TakeText(inner, kPrefix, "grammar", Kind::kGrammar);
  TakeObjectMode(inner, kPrefix, "json_object");
  TakeJson(inner, kPrefix, "structural_tag", Kind::kStructuralTag);
  inner.Ignore("disable_fallback");
  for (const std::string_view name :
       {"disable_any_whitespace", "disable_additional_properties", "whitespace_pattern"}) {
    inner.Unsupported(name, "white space is free and undeclared properties are not allowed");
  }
  PassOn(inner);
}

void Reader::ReadGuided() {
  TakeJson(fields_, "", "guided_json", Kind::kJsonSchema);
  TakeText(fields_, "", "guided_regex", Kind::kRegex);
  TakeJson(fields_, "", "guided_choice", Kind::kChoice);
  TakeText(fields_, "", "guided_grammar", Kind::kGrammar);
  TakeObjectMode(fields_, "", "guided_json_object");
  fields_.Ignore("guided_decoding_backend");
  fields_.Unsupported("guided_whitespace_pattern", "white space is free");
}

}  // namespace

void ReadOutputFields(Fields& fields, OutputFields& out) {
  Reader reader(fields, out);
  reader.ReadResponseFormat();
  reader.ReadStructuredOutputs();
  reader.ReadGuided();
}

}  // namespace hunch
