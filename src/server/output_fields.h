// What an answer must look like: OpenAI's `response_format`, vLLM's `structured_outputs`, and the
// `guided_...` that came before it. From JSON to a type; whether it can be had is for the session
// to say. Pure functions.
#ifndef HUNCH_SERVER_OUTPUT_FIELDS_H_
#define HUNCH_SERVER_OUTPUT_FIELDS_H_

#include <memory>
#include <string>

#include "hunch/structured_output.h"
#include "server/fields.h"

namespace hunch {

struct OutputFields {
  std::shared_ptr<const StructuredOutput> wanted;  // null: any text
  std::string field;                               // the one that said it
};

// Two that say it are an error. `strict` changes nothing: a schema is always kept to.
void ReadOutputFields(Fields& fields, OutputFields& out);

}  // namespace hunch

#endif  // HUNCH_SERVER_OUTPUT_FIELDS_H_
