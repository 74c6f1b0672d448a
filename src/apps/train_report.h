// The page of `hunch train --report`: what was learned from, and how good the student became.
// Pure functions.
#ifndef HUNCH_APPS_TRAIN_REPORT_H_
#define HUNCH_APPS_TRAIN_REPORT_H_

#include <string>

#include "apps/flags.h"
#include "train/student.h"
#include "train/train_head.h"
#include "train/train_set.h"

namespace hunch {

struct TrainedStudent {
  const Student& student;
  const TrainSet& set;
  const TrainOptions& options;
  const TrainOutcome& outcome;
};

std::string TrainHtml(const TrainedStudent& trained, const Flags& flags);

// ", 1.23 before" of a student that knew something; else nothing.
std::string BeforeText(const std::vector<CurvePoint>& curve);

}  // namespace hunch

#endif  // HUNCH_APPS_TRAIN_REPORT_H_
