// From trained weights to a head file (docs/formats.md), and back. Pure but for writing it.
#ifndef HUNCH_TRAIN_EXPORT_HEAD_H_
#define HUNCH_TRAIN_EXPORT_HEAD_H_

#include <span>
#include <string>

#include "base/result.h"
#include "draft/head_file.h"
#include "quant/types.h"
#include "train/head_trainer.h"
#include "weights/gguf.h"

namespace hunch {

// tap_inverse[columns of fc.weight]: what training multiplied its inputs with; empty: nothing.
Status ExportHead(const std::string& path, const HeadConfig& config, const HeadState& state,
                  std::span<const float> tap_inverse, TensorType type);

// The weights of a head file, to be trained further. config: what ReadHeadConfig gave.
HeadState ImportHead(const GgufFile& file, const HeadConfig& config);

}  // namespace hunch

#endif  // HUNCH_TRAIN_EXPORT_HEAD_H_
