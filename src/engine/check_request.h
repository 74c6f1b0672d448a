// What the engine refuses of a request. Pure.
#ifndef HUNCH_ENGINE_CHECK_REQUEST_H_
#define HUNCH_ENGINE_CHECK_REQUEST_H_

#include "base/result.h"
#include "engine/engine.h"

namespace hunch {

// The errors of Engine::Submit.
Status CheckRequest(const EngineRequest& request, const EngineOptions& options);

}  // namespace hunch

#endif  // HUNCH_ENGINE_CHECK_REQUEST_H_
