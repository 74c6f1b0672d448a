// What a structured output may ask for, checked before a library sees it. Pure; thread safe.
#ifndef HUNCH_GRAMMAR_LIMITS_H_
#define HUNCH_GRAMMAR_LIMITS_H_

#include <cstddef>

#include "base/result.h"
#include "hunch/structured_output.h"

namespace hunch {

inline constexpr size_t kMostGrammarBytes = 64 << 10;  // of the text
inline constexpr int kMostGrammarDepth = 64;           // of JSON, and of brackets
inline constexpr size_t kMostRuleBytes = 512 << 10;    // of the rules that it unfolds to
// Between two tokens of JSON. Small models that may go on with white space for ever sometimes do.
inline constexpr int kMostWhitespace = 64;

// "the JSON schema", "the regular expression", ... for messages.
std::string_view WhatItIs(StructuredOutput::Kind kind);
// kInvalidArgument with the reason.
Status CheckLimits(const StructuredOutput& wanted);

}  // namespace hunch

#endif  // HUNCH_GRAMMAR_LIMITS_H_
