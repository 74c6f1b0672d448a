#include "train/train_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/stopwatch.h"
#include "train/judge.h"
#include "train/learning_rate.h"

namespace hunch {
namespace {

constexpr double kSaveShare = 0.05;  // most of the time that checkpoints take: a model's are large

// What decides over the bits that come of it, in words: a checkpoint of other settings is refused.
std::string SettingsOf(const TrainOptions& options, const TrainTask& task) {
  const Student& student = task.student;
  return fmt::format(
      "{}, {} steps, {}, {} epochs, batches of {}, rate {}, seed {}, texts {:016x}, from {:x}",
      student.Kind(), options.steps, student.Settings(), options.epochs, options.batch_tokens,
      options.learning_rate, options.seed, task.set.fingerprint, student.From());
}

class TrainRun {
 public:
  TrainRun(const TrainOptions& options, const TrainTask& task, HeadTrainer& trainer,
           const OnTrain& on_train, const OnPrecision& on_precision)
      : options_(options),
        task_(task),
        trainer_(trainer),
        on_train_(on_train),
        on_precision_(on_precision),
        settings_(SettingsOf(options, task)) {}

  Result<TrainOutcome> Run() {
    HUNCH_RETURN_IF_ERROR(task_.student.Begin(task_.set, task_.features));
    SetEpoch(0);
    // Epochs differ by a batch or so; the first one stands for all, so that updates are numbered.
    per_epoch_ = static_cast<int64_t>(batches_.size());
    const int64_t updates = per_epoch_ * options_.epochs;
    HUNCH_ASSIGN_OR_RETURN(bool wanted, Begin(updates));
    while (wanted && position_.update < updates && position_.stale < options_.patience) {
      HUNCH_ASSIGN_OR_RETURN(wanted, Update(updates));
    }
    return Stop(wanted);
  }

 private:
  // False: stop.
  Result<bool> Begin(int64_t updates) {
    bool knows_something = false;
    if (std::filesystem::exists(task_.checkpoint)) {
      HUNCH_ASSIGN_OR_RETURN(Checkpoint checkpoint,
                             ReadCheckpoint(task_.checkpoint, task_.student.Tensors(), settings_));
      position_ = std::move(checkpoint.position);
      trainer_.Restore(checkpoint.state);
    } else {
      if (const std::optional<HeadState> first = task_.student.First()) {
        trainer_.Restore(*first);
        knows_something = true;
      }
      HUNCH_RETURN_IF_ERROR(ChoosePrecision());
    }
    trainer_.SetPrecision(position_.precision);
    first_tokens_ = position_.tokens;
    if (!knows_something) return true;
    TrainReport report = {.updates = updates};
    HUNCH_RETURN_IF_ERROR(JudgeNow(report));
    return on_train_ == nullptr || on_train_(report);
  }

  Status ChoosePrecision() {
    if (options_.precision) {
      position_.precision = *options_.precision;
      return Ok{};
    }
    HUNCH_ASSIGN_OR_RETURN(const HeadBatch batch, BatchOf(batches_.front()));
    double seconds[2] = {};
    for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
      trainer_.SetPrecision(precision);
      trainer_.TimeUpdate(batch);  // the first one makes room
      seconds[static_cast<int>(precision)] = trainer_.TimeUpdate(batch);
    }
    if (on_precision_) on_precision_(seconds[0], seconds[1]);
    position_.precision = seconds[1] < seconds[0] ? Precision::kBf16 : Precision::kF32;
    return Ok{};
  }

  void SetEpoch(int64_t epoch) {
    if (epoch == epoch_) return;
    epoch_ = epoch;
    batches_ = BatchesOf(task_.set.learned, options_.batch_tokens, options_.seed,
                         static_cast<uint32_t>(epoch));
  }

  Result<HeadBatch> BatchOf(const std::vector<int>& indices) {
    std::vector<PlacedText> texts;
    for (const int index : indices) texts.push_back(task_.set.learned[index]);
    return task_.student.Batch(texts, options_.steps, task_.features);
  }

  // One update, and what is due after it.
  Result<bool> Update(int64_t updates) {
    const Stopwatch watch;
    SetEpoch(position_.update / per_epoch_);
    const auto index = static_cast<size_t>(position_.update % per_epoch_);
    TrainReport report = {.updates = updates};
    if (index < batches_.size()) {
      HUNCH_ASSIGN_OR_RETURN(const HeadBatch batch, BatchOf(batches_[index]));
      const double rate = LearningRate(options_.learning_rate, position_.update, updates);
      report.loss = trainer_.Update(batch, rate);
      if (!std::isfinite(report.loss)) {
        return Error{ErrorCode::kInternal,
                     "the loss is no number any more; lower --learning-rate, delete the checkpoint "
                     "and begin anew"};
      }
      position_.tokens += batch.answers();
      position_.loss_sum += report.loss;
      ++position_.loss_count;
    }
    ++position_.update;
    position_.seconds += watch.Seconds();
    seconds_ += watch.Seconds();
    ++updates_;
    report.seconds_per_update = seconds_ / static_cast<double>(updates_);
    report.update = position_.update;
    report.tokens_per_second =
        static_cast<double>(position_.tokens - first_tokens_) / std::max(seconds_, 1e-9);
    if (position_.update % per_epoch_ == 0) {
      HUNCH_RETURN_IF_ERROR(JudgeNow(report));
    } else if (since_checkpoint_.Seconds() >
               std::max(options_.checkpoint_seconds, save_seconds_ / kSaveShare)) {
      HUNCH_RETURN_IF_ERROR(Save());
    }
    return on_train_ == nullptr || on_train_(report);
  }

  // Before the first update, or when an epoch is over.
  Status JudgeNow(TrainReport& report) {
    HUNCH_ASSIGN_OR_RETURN(const Judgement judgement, Judge());
    position_.curve.push_back({.tokens = position_.tokens,
                               .seconds = position_.seconds,
                               .loss = position_.loss_sum / static_cast<double>(std::max<int64_t>(
                                                                position_.loss_count, 1)),
                               .tokens_per_pass = judgement.tokens_per_pass(),
                               .right = judgement.Shares()});
    position_.loss_sum = 0;
    position_.loss_count = 0;
    ++position_.stale;
    // The first one counts even if nothing comes true, so that there is a file.
    if (judgement.tokens_per_pass() > position_.best || position_.curve.size() == 1) {
      position_.best = judgement.tokens_per_pass();
      position_.stale = 0;
      HUNCH_RETURN_IF_ERROR(task_.student.Export(task_.out, trainer_.State(), options_.type));
    }
    report.judged = &position_.curve.back();
    return Save();
  }

  Result<Judgement> Judge() {
    Judgement judgement;
    int tokens = 0;
    const int steps = task_.student.JudgedSteps();
    for (const PlacedText& placed : task_.set.held_out) {
      if (tokens >= options_.judged_tokens) break;
      HUNCH_ASSIGN_OR_RETURN(const HeadBatch batch,
                             task_.student.Batch({&placed, 1}, steps, task_.features));
      const HeadGuesses guesses = trainer_.Guess(batch);
      judgement.Add(RunsOf(*placed.text, batch.texts[0], guesses), steps);
      tokens += placed.text->size();
    }
    return judgement;
  }

  Status Save() {
    const Stopwatch watch;
    HUNCH_RETURN_IF_ERROR(
        WriteCheckpoint(task_.checkpoint, {settings_, position_, trainer_.State()}));
    save_seconds_ = watch.Seconds();
    since_checkpoint_ = Stopwatch();
    return Ok{};
  }

  Result<TrainOutcome> Stop(bool finished) {
    HUNCH_RETURN_IF_ERROR(Save());
    return TrainOutcome{finished, position_};
  }

  const TrainOptions& options_;
  const TrainTask& task_;
  HeadTrainer& trainer_;
  const OnTrain& on_train_;
  const OnPrecision& on_precision_;
  const std::string settings_;

  int64_t epoch_ = -1;  // whose batches these are
  std::vector<std::vector<int>> batches_;
  int64_t per_epoch_ = 0;  // updates
  TrainPosition position_;
  int64_t first_tokens_ = 0;  // of this run
  double seconds_ = 0;        // of this run's updates
  int64_t updates_ = 0;       // likewise
  Stopwatch since_checkpoint_;
  double save_seconds_ = 0;  // that the last one took
};

}  // namespace

Result<TrainOutcome> TrainHead(const TrainOptions& options, const TrainTask& task,
                               HeadTrainer& trainer, const OnTrain& on_train,
                               const OnPrecision& on_precision) {
  return TrainRun(options, task, trainer, on_train, on_precision).Run();
}

}  // namespace hunch
