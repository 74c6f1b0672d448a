#include "draft/chained.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace hunch {

ChainedDrafter::ChainedDrafter(std::vector<std::unique_ptr<Drafter>> drafters) {
  HUNCH_CHECK(!drafters.empty());
  for (std::unique_ptr<Drafter>& drafter : drafters) {
    if (!name_.empty()) name_ += '+';
    name_ += drafter->name();
    Part part;
    part.drafter = std::move(drafter);
    parts_.push_back(std::move(part));
  }
}

void ChainedDrafter::Drop(Part& part, const Error& error) {
  part.dropped = true;
  ++part.counts.failures;
  part.counts.last_error = error.message;
  LogWarning(fmt::format("drafter {} is dropped for this request: {}", part.drafter->name(),
                         error.message));
  // What it holds of this request is of no more use.
  part.drafter->Forget();
}

Status ChainedDrafter::SomeLeft() const {
  std::string reasons;
  for (const Part& part : parts_) {
    if (!part.dropped) return Ok{};
    if (!reasons.empty()) reasons += "; ";
    reasons += fmt::format("{}: {}", part.drafter->name(), part.counts.last_error);
  }
  return Error{ErrorCode::kInternal,
               fmt::format("every drafter of {} has failed ({})", name_, reasons)};
}

Status ChainedDrafter::Start(std::span<const TokenId> prompt, const SamplingParams& params) {
  for (Part& part : parts_) {
    part.dropped = false;
    if (Status status = part.drafter->Start(prompt, params); !status.ok())
      Drop(part, status.error());
  }
  return SomeLeft();
}

Status ChainedDrafter::Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                               DraftTree& tree) {
  tree.clear();
  for (Part& part : parts_) {
    if (part.dropped) continue;
    if (Status status = part.drafter->Propose(committed, limits, tree); !status.ok()) {
      Drop(part, status.error());
      tree.clear();
      continue;
    }
    if (tree.empty()) continue;
    ++part.counts.trees;
    return Ok{};
  }
  return SomeLeft();
}

void ChainedDrafter::Observe(const Observation& step) {
  for (Part& part : parts_) {
    if (!part.dropped) part.drafter->Observe(step);
  }
}

void ChainedDrafter::Forget() {
  for (Part& part : parts_) part.drafter->Forget();
}

int64_t ChainedDrafter::part_failures() const {
  return std::count_if(parts_.begin(), parts_.end(), [](const Part& part) { return part.dropped; });
}

}  // namespace hunch
