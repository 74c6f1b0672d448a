// From what a request asks for to xgrammar's rules. Private to grammar/. Pure; thread safe.
#ifndef HUNCH_GRAMMAR_TO_RULES_H_
#define HUNCH_GRAMMAR_TO_RULES_H_

#include <xgrammar/grammar.h>

#include <string>

#include "hunch/structured_output.h"

namespace hunch {

// Throws std::exception, with the reason, for what is malformed. `wanted` is within the limits.
xgrammar::Grammar ToRules(const StructuredOutput& wanted);

// The reason in a message of the library, without the place in its sources that comes first.
std::string ReasonIn(const std::string& message);

}  // namespace hunch

#endif  // HUNCH_GRAMMAR_TO_RULES_H_
