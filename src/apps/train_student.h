// Whom `hunch train` trains: made of its flags, the target, and the texts to learn from.
#ifndef HUNCH_APPS_TRAIN_STUDENT_H_
#define HUNCH_APPS_TRAIN_STUDENT_H_

#include <functional>
#include <memory>

#include "apps/context.h"
#include "apps/flags.h"
#include "base/result.h"
#include "draft/table_file.h"
#include "tokenizer/tokenizer.h"
#include "train/student.h"
#include "train/target_rows.h"
#include "train/train_head.h"
#include "train/train_set.h"
#include "train/training_memory.h"

namespace hunch {

struct PlannedStudent {
  std::unique_ptr<Student> student;
  TrainOptions options;  // of the flags, and what only the student could say
  TrainingMemory memory;
  std::function<std::unique_ptr<HeadTrainer>()> make_trainer;
};

// What a student is made of; all of it must outlive the student.
struct StudentSource {
  const Flags& flags;
  const Context& context;
  const TargetRows& target;
  const Tokenizer& tokenizer;
  const VocabularyId& vocabulary;
  const TrainSet& set;
  int threads;
};

// The options, with what suits the student where --batch-tokens and --learning-rate do not say. A
// new head learns most of a text in small batches (docs/decisions/014); a draft model's update
// costs too much for them, and what has learned before is moved less far.
TrainOptions TrainOptionsOf(const TrainFlags& train);

Result<PlannedStudent> PlanStudent(const StudentSource& source);

}  // namespace hunch

#endif  // HUNCH_APPS_TRAIN_STUDENT_H_
