#include "draft/medusa_drafter.h"

#include <algorithm>

namespace hunch {

void MedusaDrafter::Forget() {
  TreeDrafter::Forget();
  known_ = 0;
}

Status MedusaDrafter::Begin(std::span<const TokenId> committed, const ProposeLimits& limits,
                            DraftTree& tree) {
  ProposeLimits own = limits;
  own.max_depth = std::min(limits.max_depth, medusa_.config().medusa_heads);
  return TreeDrafter::Begin(committed, own, tree);
}

Status MedusaDrafter::TakeHidden(const HiddenRows& given) {
  const float* const tap = medusa_.taps().front().out;
  std::copy_n(tap + int64_t{given.rows.back()} * medusa_.hidden(), medusa_.hidden(),
              feature_.data());
  known_ = given.first + given.rows.size();
  return Ok{};
}

bool MedusaDrafter::Prepare() {
  table_.Clear();
  last_read_ = false;
  return known_ > 0 && known_ + 1 == committed_.size();
}

Result<int> MedusaDrafter::LayCommitted(int max_rows, int max_logit_rows, SequenceRows& rows) {
  if (max_rows == 0 || max_logit_rows == 0) return 0;
  rows = {.blocks = table_.blocks(),
          .committed = 0,
          .tokens = committed_.last(1),
          .parents = {},
          .features = feature_.data()};
  return 1;
}

}  // namespace hunch
