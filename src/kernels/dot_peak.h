// The loops behind MeasureDotPeak, one per instruction set: the int8 dot instruction of that set's
// kernels, over and over, with nothing to wait for. Private to kernels/. Pure; thread safe.
#ifndef HUNCH_KERNELS_DOT_PEAK_H_
#define HUNCH_KERNELS_DOT_PEAK_H_

#include <cstdint>

namespace hunch {

// Each runs `steps` steps and returns how many weights it multiplied and added.
int64_t DotPeakRef(int64_t steps);
int64_t DotPeakAvx2(int64_t steps);
int64_t DotPeakAvx512(int64_t steps);
int64_t DotPeakNeon(int64_t steps);

}  // namespace hunch

#endif  // HUNCH_KERNELS_DOT_PEAK_H_
