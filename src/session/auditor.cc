#include "session/auditor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace hunch {

std::unique_ptr<TextRequest> Auditor::Draw(const TextRequest& request) {
  if (rate_ <= 0 || request.params.acceptance != AcceptanceRule::kCoupled) return nullptr;
  if (std::uniform_real_distribution<double>()(random_) >= rate_) return nullptr;
  auto copy = std::make_unique<TextRequest>(request);
  copy->speculation = SpeculativeConfig();
  copy->background = true;
  copy->params.logprobs = copy->params.prompt_logprobs = -1;
  return copy;
}

void Auditor::Add(std::unique_ptr<TextRequest> request, const RequestOutput& output) {
  if (output.finish_reason == FinishReason::kCancelled) return;  // wherever it was cut
  if (waiting_.size() >= kMostWaiting) {
    ++counts_.dropped;
    return;
  }
  waiting_.push_back({std::move(request), output.token_ids});
}

void Auditor::StartNext() {
  if (running_ || waiting_.empty()) return;
  auto audit = std::make_shared<Audit>(std::move(waiting_.front()));
  waiting_.pop_front();
  const auto on_done = [this, audit](RequestOutput output) {
    running_ = false;
    Compare(*audit, output);
  };
  const Result<RequestId> id = llm_.Start(*audit->request, nullptr, on_done);
  if (!id.ok()) {
    ++counts_.dropped;
    return;
  }
  running_ = true;
  id_ = *id;
}

void Auditor::Stop() {
  counts_.dropped += static_cast<int64_t>(waiting_.size());
  waiting_.clear();
  if (running_) llm_.Cancel(id_);
}

void Auditor::Compare(const Audit& audit, const RequestOutput& output) {
  if (output.finish_reason == FinishReason::kCancelled) {
    ++counts_.dropped;
    return;
  }
  ++counts_.checked;
  const std::vector<TokenId>& sent = audit.expected;
  const std::vector<TokenId>& plain = output.token_ids;
  if (sent == plain) return;
  ++counts_.mismatched;
  const auto [at, plain_at] = std::mismatch(sent.begin(), sent.end(), plain.begin(), plain.end());
  LogWarning(fmt::format(
      "lossless audit: request {} (seed {}) was sent {} tokens and plain decoding gives {}; they "
      "differ from token {} on. This is a fault of the machine or a bug: please report it",
      audit.request->id.empty() ? "without a name" : audit.request->id, audit.request->params.seed,
      sent.size(), plain.size(), at - sent.begin()));
}

}  // namespace hunch
