// What an answer must look like. Tokens that would break it are as if their logit were minus
// infinity.
#ifndef HUNCH_STRUCTURED_OUTPUT_H_
#define HUNCH_STRUCTURED_OUTPUT_H_

#include <string>

namespace hunch {

struct StructuredOutput {
  enum class Kind {
    kJsonObject,     // any JSON object
    kJsonSchema,     // JSON that matches a schema
    kRegex,          // text that an expression matches as a whole
    kChoice,         // one of some texts
    kGrammar,        // text of a grammar in EBNF, GBNF included; its first rule is `root`
    kStructuralTag,  // xgrammar's JSON for text with constrained parts (session/tagged_output.h)
  };
  Kind kind = Kind::kJsonObject;
  // The schema, expression, grammar or structural tag; of kChoice a JSON array of strings; of
  // kJsonObject nothing.
  std::string text;

  bool operator==(const StructuredOutput&) const = default;
};

}  // namespace hunch

#endif  // HUNCH_STRUCTURED_OUTPUT_H_
