// LearnSource: what learning while serving (learner.h) needs of a loaded model: its committed rows,
// and heads beside the one in use, scored on committed text. Private to session/, but for the
// learner.
#ifndef HUNCH_SESSION_LEARN_SOURCE_H_
#define HUNCH_SESSION_LEARN_SOURCE_H_

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "draft/head_file.h"
#include "learn/learned_text.h"
#include "learn/passes_needed.h"
#include "learn/row_collector.h"
#include "learn/segment_file.h"
#include "session/llm.h"
#include "session/memory_plan.h"

namespace hunch {

class DraftSide;

using LearnedTexts = std::vector<std::shared_ptr<const LearnedText>>;

class LearnSource {
 public:
  // `head` is the one in use at first; target, tokenizer and model must outlive this. kUnsupported:
  // the target's hidden states cannot be kept.
  static Result<std::unique_ptr<LearnSource>> Create(const LlmOptions& options,
                                                     const PlannedModel& target,
                                                     const DraftSide& head,
                                                     const Tokenizer& tokenizer, Model& model);

  // The file of the head in use at first.
  const std::string& head_path() const { return head_path_; }
  const SegmentKind& kind() const { return kind_; }
  // The engine's, for requests.
  HiddenSink& sink() { return collector_; }
  // Its taking end is for one thread.
  RowRing& ring() { return collector_.ring(); }

  // Loads a head from its file and replays the texts with it, on the calling thread alone. Any
  // thread. Errors: Llm::PrepareSwap's; it reads other taps; `stop` was set.
  Result<PassesNeeded> Score(const std::string& head, const LearnedTexts& texts,
                             const std::atomic<bool>& stop) const;

 private:
  LearnSource(const LlmOptions& options, const PlannedModel& target, const DraftSide& head,
              const Tokenizer& tokenizer, Model& model);

  const LlmOptions options_;
  const PlannedModel target_;
  const std::string head_path_;
  const HeadConfig head_;
  const Tokenizer& tokenizer_;
  Model& model_;
  const SegmentKind kind_;
  RowCollector collector_;
};

}  // namespace hunch

#endif  // HUNCH_SESSION_LEARN_SOURCE_H_
