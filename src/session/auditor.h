// Auditor: decodes a sampled part of finished requests again, plainly and one row a pass, and holds
// the tokens against those that were sent. The engine runs an audit only while nothing else is
// there to run; what cannot be kept until then is dropped. A mismatch breaks the promise of the
// same text: it is counted and logged.
//
// Belongs to the thread that steps the model. Memory: kMostWaiting prompts and answers.
#ifndef HUNCH_SESSION_AUDITOR_H_
#define HUNCH_SESSION_AUDITOR_H_

#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "session/llm.h"

namespace hunch {

struct AuditCounts {
  int64_t checked = 0;
  int64_t mismatched = 0;  // of those checked
  int64_t dropped = 0;     // were to be audited, and there was no room or no time
};

class Auditor {
 public:
  static constexpr size_t kMostWaiting = 4;

  // `llm` must outlive the auditor. rate: the part of requests, 0 to 1.
  Auditor(Llm& llm, double rate) : llm_(llm), rate_(rate) {}

  // A copy of a request that is about to start, if it is to be audited when it is over; else null.
  // Only the rule `coupled` promises one text.
  std::unique_ptr<TextRequest> Draw(const TextRequest& request);
  // That request is over.
  void Add(std::unique_ptr<TextRequest> request, const RequestOutput& output);

  // Something waits or runs.
  bool busy() const { return running_ || !waiting_.empty(); }
  bool running() const { return running_; }
  // Starts the next audit unless one runs.
  void StartNext();
  // Drops all of them; the one that runs is over with the next step.
  void Stop();

  const AuditCounts& counts() const { return counts_; }

 private:
  struct Audit {
    std::unique_ptr<TextRequest> request;
    std::vector<TokenId> expected;
  };

  void Compare(const Audit& audit, const RequestOutput& output);

  Llm& llm_;
  const double rate_;
  // Which requests are drawn is nobody's secret, and the same in each run.
  std::mt19937 random_;
  std::deque<Audit> waiting_;
  bool running_ = false;
  RequestId id_ = 0;  // of the one that runs
  AuditCounts counts_;
};

}  // namespace hunch

#endif  // HUNCH_SESSION_AUDITOR_H_
