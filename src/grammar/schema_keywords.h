// Which keywords of a JSON schema the library would pass over without a word: an answer that is
// said to keep to a schema keeps to all of it, or is refused. Pure; thread safe.
#ifndef HUNCH_GRAMMAR_SCHEMA_KEYWORDS_H_
#define HUNCH_GRAMMAR_SCHEMA_KEYWORDS_H_

#include <nlohmann/json.hpp>
#include <string>

namespace hunch {

// The first one in `schema`, and in what it has inside, in quotes; "": none. Names of properties,
// and what stands in an `enum` or a `default`, are no keywords.
std::string PassedOverKeyword(const nlohmann::json& schema);

// The same, of every schema in a structural tag.
std::string PassedOverKeywordInTag(const nlohmann::json& tag);

}  // namespace hunch

#endif  // HUNCH_GRAMMAR_SCHEMA_KEYWORDS_H_
