// What `hunch serve --learn` adds to a server: a learner between its model, its speculation and
// hunch-train. Not thread safe.
#ifndef HUNCH_APPS_SERVE_LEARNING_H_
#define HUNCH_APPS_SERVE_LEARNING_H_

#include <memory>

#include "apps/context.h"
#include "apps/flags.h"
#include "session/async_llm.h"
#include "session/learner.h"

namespace hunch {

// Before anything is loaded: what --learn needs is there.
Status CheckLearning(const Flags& flags, const SpeculativeConfig& speculation,
                     const Context& context);

// Started. `llm`, whose source is of the model that was loaded, must outlive it.
Result<std::unique_ptr<Learner>> StartLearning(const Flags& flags,
                                               const SpeculativeConfig& speculation,
                                               const Context& context, AsyncLlm& llm,
                                               LearnSource& source);

}  // namespace hunch

#endif  // HUNCH_APPS_SERVE_LEARNING_H_
