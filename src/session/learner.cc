#include "session/learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/idle_priority.h"
#include "base/log.h"

namespace hunch {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kKeepPause{20}, kLookPause{500};
constexpr size_t kMostUnfinishedBytes = size_t{64} << 20;
// Text that no head learns from, for comparisons: every so manieth, the newest of it.
constexpr int64_t kHoldOutEvery = 5;
constexpr int64_t kMostHeldTokens = 8192;

// Times the guesses of a trial: so long a head that failed it may wait for text to compare it on.
constexpr int64_t kMostPatience = 20;
constexpr int kMostDoublings = 6;  // of the pause between rounds

constexpr std::string_view kHeadPrefix = "head-", kHeadSuffix = ".gguf";

}  // namespace

std::string_view LearnPhaseName(LearnPhase phase) {
  switch (phase) {
    case LearnPhase::kGathers:
      return "gathers";
    case LearnPhase::kTrains:
      return "trains";
    case LearnPhase::kCompares:
      return "compares";
    case LearnPhase::kOnTrial:
      return "on trial";
    case LearnPhase::kDoubts:
      return "doubts";
    case LearnPhase::kPaused:
      return "paused";
  }
  return "";
}

Result<std::unique_ptr<Learner>> Learner::Create(LearnOptions options, LearnHooks hooks,
                                                 RowRing& ring, const SegmentKind& kind) {
  HUNCH_ASSIGN_OR_RETURN(SegmentWriter writer,
                         SegmentWriter::Open(options.folder, kind, options.cap));
  // Heads of an earlier run, but for the one that this run begins with.
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options.folder, error)) {
    const std::string name = entry.path().filename().string();
    std::error_code other;
    if (!name.starts_with(kHeadPrefix) || !name.ends_with(kHeadSuffix)) continue;
    if (!fs::equivalent(entry.path(), options.head, other)) fs::remove(entry.path(), other);
  }
  return std::unique_ptr<Learner>(
      new Learner(std::move(options), std::move(hooks), ring, kind, std::move(writer)));
}

Learner::Learner(LearnOptions options, LearnHooks hooks, RowRing& ring, const SegmentKind& kind,
                 SegmentWriter writer)
    : options_(std::move(options)),
      hooks_(std::move(hooks)),
      ring_(ring),
      writer_(std::move(writer)),
      assembler_(kind.layout, kMostUnfinishedBytes,
                 [this](LearnedText text) { KeepText(std::move(text)); }),
      head_(options_.head) {
  while (fs::exists(PathOf(fmt::format("{}{}{}", kHeadPrefix, next_head_, kHeadSuffix)))) {
    ++next_head_;
  }
  stats_.head = head_;
  stats_.segment_bytes = writer_.bytes();
}

void Learner::Start() {
  keeps_ = std::thread([this] { RunEvery(kKeepPause, &Learner::Keep); });
  looks_ = std::thread([this] { RunEvery(kLookPause, &Learner::Look); });
}

void Learner::RunEvery(milliseconds pause, void (Learner::*work)()) {
  while (!stopping_) {
    (this->*work)();
    // Short, so that Stop need not wake anybody.
    for (milliseconds slept{0}; slept < pause && !stopping_; slept += kKeepPause) {
      std::this_thread::sleep_for(kKeepPause);
    }
  }
}

void Learner::Stop() {
  stopping_ = true;
  if (keeps_.joinable()) keeps_.join();
  if (looks_.joinable()) looks_.join();
  round_.reset();
  if (comparison_.valid()) comparison_.wait();
}

LearnStats Learner::stats() const {
  std::lock_guard lock(mutex_);
  LearnStats stats = stats_;
  stats.rows_dropped = ring_.dropped();
  return stats;
}

void Learner::Keep() {
  int64_t rows = 0;
  while (const auto slot = ring_.Front()) {
    assembler_.Add(slot->label, slot->row);
    ring_.Pop();
    ++rows;
  }
  if (rows == 0) return;
  std::lock_guard lock(mutex_);
  stats_.rows += rows;
  stats_.segment_bytes = writer_.bytes();
}

void Learner::KeepText(LearnedText text) {
  const int64_t answer = text.answer();
  int64_t number;
  {
    std::lock_guard lock(mutex_);
    number = stats_.texts++;
    stats_.answer_tokens += answer;
    if (number % kHoldOutEvery == 0) {
      ++stats_.held_out;
      held_tokens_ += text.size();
      held_.push_back({number, std::make_shared<const LearnedText>(std::move(text))});
      while (held_tokens_ > kMostHeldTokens && held_.size() > 1) {
        held_tokens_ -= held_.front().text->size();
        held_.pop_front();
      }
      return;
    }
    new_tokens_ += answer;
  }
  const Status added = writer_.Add(text);
  if (added.ok() || std::exchange(warned_, true)) return;
  LogWarning("learning loses text: " + added.error().message);
}

void Learner::Look() {
  switch (phase_) {
    case LearnPhase::kGathers:
      return Gather();
    case LearnPhase::kTrains:
      return AwaitRound();
    case LearnPhase::kCompares:
      return AwaitComparison();
    case LearnPhase::kOnTrial:
      return AwaitTrial();
    case LearnPhase::kDoubts:
      return AwaitDoubt();
    case LearnPhase::kPaused:
      if (HeadIsOurs()) SetPhase(LearnPhase::kGathers);
  }
}

void Learner::SetPhase(LearnPhase phase) {
  phase_ = phase;
  std::lock_guard lock(mutex_);
  stats_.phase = phase;
  stats_.head = head_;
}

std::string Learner::PathOf(std::string_view name) const {
  return fmt::format("{}/{}", options_.folder, name);
}

// Only what a run of this wrote: the first head is the user's.
void Learner::Remove(const std::string& head) const {
  std::error_code ignored;
  if (head != options_.head) fs::remove(head, ignored);
}

void Learner::Gather() {
  // Somebody chose another one by hand.
  if (!HeadIsOurs()) return SetPhase(LearnPhase::kPaused);
  // What fails is tried less and less often.
  const double pause = options_.least_pause * (1 << std::min(failures_, kMostDoublings));
  if (since_round_ && since_round_->Seconds() < pause) return;
  // What a round makes has to be compared.
  if (ReplayedTokens(0) < options_.policy.least_replayed) return;
  {
    std::lock_guard lock(mutex_);
    if (new_tokens_ < options_.least_new_tokens) return;
    new_tokens_ = 0;
    ++stats_.rounds;
  }
  since_round_.emplace();
  const std::string to = PathOf("candidate.gguf");
  Remove(to);
  auto round = hooks_.train(head_, to);
  if (!round.ok()) return RoundFailed(round.error().message);
  round_ = std::move(*round);
  SetPhase(LearnPhase::kTrains);
}

void Learner::AwaitRound() {
  const std::optional<bool> ended = round_->Ended();
  if (!ended) return;
  round_.reset();
  candidate_ = PathOf(fmt::format("{}{}{}", kHeadPrefix, next_head_++, kHeadSuffix));
  std::error_code error;
  // A head of its own name: the next round writes the same file again.
  if (*ended) fs::rename(PathOf("candidate.gguf"), candidate_, error);
  if (!*ended || error) return RoundFailed(PathOf("train.log") + " says why");
  failures_ = 0;
  Compare(head_, candidate_, 0);
  SetPhase(LearnPhase::kCompares);
}

void Learner::RoundFailed(const std::string& why) {
  LogWarning("a round of learning failed: " + why);
  ++failures_;
  {
    std::lock_guard lock(mutex_);
    ++stats_.failed_rounds;
  }
  SetPhase(LearnPhase::kGathers);
}

// On the held-out texts from number `since` on.
void Learner::Compare(const std::string& before, const std::string& after, int64_t since) {
  LearnedTexts texts;
  {
    std::lock_guard lock(mutex_);
    for (const Held& held : held_) {
      if (held.number >= since) texts.push_back(held.text);
    }
  }
  comparison_ = std::async(std::launch::async, [this, before, after, texts = std::move(texts)] {
    if (options_.idle_replays) BecomeIdle();
    return Comparison{hooks_.score(before, texts, stopping_),
                      hooks_.score(after, texts, stopping_)};
  });
}

// That a replay of them gives: an answer's first token comes with its prompt.
int64_t Learner::ReplayedTokens(int64_t since) const {
  std::lock_guard lock(mutex_);
  int64_t tokens = 0;
  for (const Held& held : held_) {
    if (held.number >= since) tokens += held.text->answer() - 1;
  }
  return tokens;
}

// None: it is not done.
std::optional<Learner::Comparison> Learner::Compared() {
  if (comparison_.wait_for(milliseconds(0)) != std::future_status::ready) return std::nullopt;
  Comparison compared = comparison_.get();
  std::lock_guard lock(mutex_);
  ++stats_.comparisons;
  if (compared.before.ok()) stats_.replayed_before = compared.before->tokens_per_pass();
  if (compared.after.ok()) stats_.replayed_after = compared.after->tokens_per_pass();
  return compared;
}

void Learner::AwaitComparison() {
  const std::optional<Comparison> compared = Compared();
  if (!compared) return;
  const bool both = compared->before.ok() && compared->after.ok();
  if (!both) {
    const Error& error = compared->after.ok() ? compared->before.error() : compared->after.error();
    LogWarning("learning cannot compare two heads: " + error.message);
  }
  const bool better = both && WorthSwapping(options_.policy, *compared->before, *compared->after);
  if (!better || !HeadIsOurs()) {
    Remove(candidate_);
    return SetPhase(LearnPhase::kGathers);
  }
  const GuessCounts now = hooks_.guesses();
  const Status swapped = hooks_.swap(candidate_);
  if (!swapped.ok()) {
    LogWarning("learning cannot use what it learned: " + swapped.error().message);
    Remove(candidate_);
    return SetPhase(LearnPhase::kGathers);
  }
  previous_share_ = now - head_began_;
  head_began_ = now;
  previous_ = std::exchange(head_, candidate_);
  {
    std::lock_guard lock(mutex_);
    ++stats_.swaps;
    swapped_at_ = stats_.texts;
  }
  SetPhase(LearnPhase::kOnTrial);
}

void Learner::AwaitTrial() {
  if (!HeadIsOurs()) return SetPhase(LearnPhase::kPaused);
  const SwapPolicy& policy = options_.policy;
  const GuessCounts on_trial = hooks_.guesses() - head_began_;
  switch (JudgeTrial(policy, previous_share_, on_trial)) {
    case Trial::kGoesOn:
      return;
    case Trial::kPassed:
      return Pass();
    case Trial::kFailed:
      if (ReplayedTokens(swapped_at_) < policy.least_replayed &&
          on_trial.verified < kMostPatience * policy.least_guesses) {
        return;
      }
      Compare(previous_, head_, swapped_at_);
      return SetPhase(LearnPhase::kDoubts);
  }
}

void Learner::AwaitDoubt() {
  const std::optional<Comparison> compared = Compared();
  if (!compared) return;
  if (!HeadIsOurs()) return SetPhase(LearnPhase::kPaused);
  const bool stays = compared->before.ok() && compared->after.ok() &&
                     !WorthRollingBack(options_.policy, *compared->before, *compared->after);
  return stays ? Pass() : RollBack();
}

// Kept under a name that the next run can be given.
void Learner::Pass() {
  Remove(previous_);
  std::error_code error;
  const std::string fresh = PathOf("head.gguf.partial");
  fs::copy_file(head_, fresh, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(fresh, PathOf("head.gguf"), error);
  if (error) LogWarning("what was learned is lost with this run: " + error.message());
  SetPhase(LearnPhase::kGathers);
}

void Learner::RollBack() {
  const Status swapped = hooks_.swap(previous_);
  if (!swapped.ok()) {
    LogWarning("a head that guesses worse stays: " + swapped.error().message);
    return SetPhase(LearnPhase::kPaused);
  }
  head_began_ = hooks_.guesses();
  Remove(std::exchange(head_, previous_));
  {
    std::lock_guard lock(mutex_);
    ++stats_.rollbacks;
  }
  SetPhase(LearnPhase::kGathers);
}

}  // namespace hunch
