// What serve and batch have in common: a model for several requests at once, and what their answers
// say of it. Not thread safe.
#ifndef HUNCH_APPS_SERVED_MODEL_H_
#define HUNCH_APPS_SERVED_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "apps/context.h"
#include "apps/flags.h"

namespace hunch {

// Those of --served-model-name, else the file's.
std::vector<std::string> ModelNames(const Flags& flags);

// What the bits of an answer depend on beside the request.
std::string Fingerprint(const Flags& flags);

// With room for the sequences of --max-num-seqs.
Result<std::unique_ptr<Llm>> LoadServedModel(const Flags& flags,
                                             const SpeculativeConfig& speculation,
                                             const Context& context);

}  // namespace hunch

#endif  // HUNCH_APPS_SERVED_MODEL_H_
