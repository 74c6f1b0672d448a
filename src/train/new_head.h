// The shape of a new head: one layer like the target's own. Pure.
#ifndef HUNCH_TRAIN_NEW_HEAD_H_
#define HUNCH_TRAIN_NEW_HEAD_H_

#include <vector>

#include "base/result.h"
#include "draft/head_file.h"
#include "train/target_rows.h"

namespace hunch {

struct NewHead {
  HeadKind kind = HeadKind::kEagle3;
  std::vector<int> taps;        // of eagle3; none: 2, the middle and the last but two
  std::vector<TokenId> tokens;  // that it can guess
  int steps = 3;                // heads of medusa
};

// kInvalidArgument: the taps are none of the target's layers, or too many.
Result<HeadConfig> ConfigOf(const NewHead& head, const TargetRows& target,
                            const VocabularyId& vocabulary);

}  // namespace hunch

#endif  // HUNCH_TRAIN_NEW_HEAD_H_
