// What tells a model file from others without reading all of it. Pure.
#ifndef HUNCH_WEIGHTS_FINGERPRINT_H_
#define HUNCH_WEIGHTS_FINGERPRINT_H_

#include <cstdint>

#include "weights/gguf.h"

namespace hunch {

// Differs, almost surely, for every other model and every other quantisation of it. In files that
// outlive a run: it may never change.
uint64_t FingerprintOf(const GgufFile& file);

}  // namespace hunch

#endif  // HUNCH_WEIGHTS_FINGERPRINT_H_
