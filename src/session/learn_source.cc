#include "session/learn_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/thread_pool.h"
#include "learn/replay.h"
#include "session/draft_side.h"

namespace hunch {
namespace {

// Eight of the largest passes: a reader that looks 50 times a second has long taken them.
constexpr int kRingSlots = 2048;

}  // namespace

LearnSource::LearnSource(const LlmOptions& options, const PlannedModel& target,
                         const DraftSide& head, const Tokenizer& tokenizer, Model& model)
    : options_(options),
      target_(target),
      head_path_(head.path()),
      head_(*head.head()),
      tokenizer_(tokenizer),
      model_(model),
      kind_(SegmentKindOf(*target.file, head_)),
      collector_(head_, model.limits().max_rows, kRingSlots) {}

Result<std::unique_ptr<LearnSource>> LearnSource::Create(const LlmOptions& options,
                                                         const PlannedModel& target,
                                                         const DraftSide& head,
                                                         const Tokenizer& tokenizer, Model& model) {
  if (head.head()->target.hidden % kActBlock != 0) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("{}: its hidden size is {}, which is no multiple of {}: heads for such "
                    "models cannot learn while serving",
                    options.model, head.head()->target.hidden, kActBlock)};
  }
  return std::unique_ptr<LearnSource>(new LearnSource(options, target, head, tokenizer, model));
}

Result<PassesNeeded> LearnSource::Score(const std::string& head, const LearnedTexts& texts,
                                        const std::atomic<bool>& stop) const {
  LlmOptions options = options_;
  options.draft_model = head;
  options.draft_quantization.clear();
  options.draft_vocab.clear();
  options.max_num_seqs = 1;
  const int context =
      std::min(target_.config.context_length, kMostLearnedTokens + kReplayedGuesses);
  ThreadPool own(1);
  DraftSide side;
  HUNCH_RETURN_IF_ERROR(side.Open(options, target_, tokenizer_));
  if (side.head() == nullptr || side.head()->kind != head_.kind ||
      side.head()->taps != head_.taps) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{}: is no head of the kind and with the taps of the one that learns", head)};
  }
  HUNCH_RETURN_IF_ERROR(side.LoadBeside(options, context, model_, own));
  const auto drafter =
      side.Make(side.kinds().front(), side.vocab_size(), tokenizer_.end_tokens(), nullptr);
  PassesNeeded passes;
  for (const auto& text : texts) {
    if (stop) return Error{ErrorCode::kUnsupported, "the server is shutting down"};
    HUNCH_RETURN_IF_ERROR(Replay(*text, kind_.layout, model_.limits().max_rows, *drafter, passes));
  }
  return passes;
}

}  // namespace hunch
