// What the engine refuses of a request. Pure.
#ifndef HUNCH_ENGINE_CHECK_REQUEST_H_
#define HUNCH_ENGINE_CHECK_REQUEST_H_

#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/engine.h"

namespace hunch {

// Empty, too long for the context (what to do about that is `advice`), or no tokens of this
// vocabulary.
Status CheckPrompt(std::span<const TokenId> prompt, int max_model_len, int vocab_size,
                   std::string_view advice);
// The errors of Engine::Submit.
Status CheckRequest(const EngineRequest& request, const EngineOptions& options);

}  // namespace hunch

#endif  // HUNCH_ENGINE_CHECK_REQUEST_H_
