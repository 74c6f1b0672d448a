#include "grammar/xgrammar_constraint.h"

#include <time.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "base/log.h"

namespace hunch {
namespace {

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

XgrammarConstraint::XgrammarConstraint(const xgrammar::CompiledGrammar& grammar,
                                       std::shared_ptr<const std::vector<bool>> takes)
    : matcher_(grammar), takes_(std::move(takes)) {}

// Whether `call` came to its end.
template <typename Call>
bool XgrammarConstraint::Try(const Call& call) {
  if (gave_up_) return false;
  const double start = ThreadSeconds();
  try {
    call();
  } catch (const std::exception& error) {
    LogWarning(std::string("a grammar failed, and its request ends: ") + error.what());
    gave_up_ = true;
    return false;
  }
  const double seconds = ThreadSeconds() - start;
  left_ += kSecondsPerCall - seconds;
  if (seconds <= kMostSeconds && left_ > 0) return true;
  LogWarning("a grammar takes too long, and its request ends");
  gave_up_ = true;
  return false;
}

bool XgrammarConstraint::Advance(TokenId token) {
  if (token < 0 || static_cast<size_t>(token) >= takes_->size() || !(*takes_)[token]) return false;
  bool taken = false;
  return Try([&] { taken = !matcher_.IsTerminated() && matcher_.AcceptToken(token); }) && taken;
}

void XgrammarConstraint::Undo(int count) {
  Try([&] { matcher_.Rollback(count); });
}

TokenConstraint::Allowed XgrammarConstraint::Fill(std::span<uint32_t> mask) {
  if (gave_up_ || matcher_.IsTerminated()) return Allowed::kNothing;
  int64_t size = static_cast<int64_t>(mask.size());
  DLTensor tensor = {};
  tensor.data = mask.data();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = 1;
  tensor.dtype = xgrammar::GetBitmaskDLType();
  tensor.shape = &size;
  bool masks = false;
  if (!Try([&] { masks = matcher_.FillNextTokenBitmask(&tensor); })) return Allowed::kNothing;
  if (!masks) return Allowed::kAll;
  const bool any = std::any_of(mask.begin(), mask.end(), [](uint32_t word) { return word != 0; });
  return any ? Allowed::kSome : Allowed::kNothing;
}

bool XgrammarConstraint::Complete() {
  bool complete = false;
  return Try([&] { complete = matcher_.IsTerminated() || matcher_.IsCompleted(); }) && complete;
}

void XgrammarConstraint::Forced(std::vector<TokenId>& tokens) {
  tokens.clear();
  Try([&] {
    // The second call copies all that the matcher remembers.
    if (matcher_.IsTerminated() || matcher_.FindJumpForwardString().empty()) return;
    tokens = matcher_.FindJumpForwardTokens();
  });
}

}  // namespace hunch
