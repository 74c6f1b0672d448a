// What the config.json of a published head says of its layer and its taps: the keys of EAGLE and
// SpecForge, or those of vLLM's speculators, whose layer has an object of its own. What the head
// format cannot express is refused with its reason. Pure; thread safe.
#ifndef HUNCH_CONVERT_PUBLISHED_CONFIG_H_
#define HUNCH_CONVERT_PUBLISHED_CONFIG_H_

#include <string_view>
#include <vector>

#include "base/result.h"
#include "draft/head_file.h"
#include "session/json_text.h"

namespace hunch {

// Fills what a head with a layer of its own has of it, from heads to normed_residual, all within
// the head file's bounds. config.kind and config.target are set. `name` is what errors call the
// file of the head.
Status ReadPublishedLayer(const Json& json, std::string_view name, HeadConfig& config);

// The taps of an eagle3 head: ascending, each once, below `layers`.
Result<std::vector<int>> ReadPublishedTaps(const Json& json, std::string_view name, int layers);

}  // namespace hunch

#endif  // HUNCH_CONVERT_PUBLISHED_CONFIG_H_
