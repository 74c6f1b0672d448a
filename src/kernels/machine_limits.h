// What this machine does at most with the threads of a pool: read memory, and multiply int8
// weights. Whoever measures a pass holds its time against these. Each takes about a second; called
// by the thread that owns the pool, like ThreadPool::Run.
#ifndef HUNCH_KERNELS_MACHINE_LIMITS_H_
#define HUNCH_KERNELS_MACHINE_LIMITS_H_

#include "base/isa.h"
#include "base/result.h"
#include "base/thread_pool.h"

namespace hunch {

// Bytes per second: every thread streams its part of a buffer several times the size of the last
// level cache; the best of several passes, since neighbours only ever take bandwidth away. Fails
// when there is no memory for the buffer.
Result<double> MeasureReadBandwidth(ThreadPool& pool);

// Multiply-adds per second of the int8 dot instruction that the kernels of `isa` use, operands in
// registers; the best of several runs. `isa` must be supported.
double MeasureDotPeak(Isa isa, ThreadPool& pool);

}  // namespace hunch

#endif  // HUNCH_KERNELS_MACHINE_LIMITS_H_
