// The page of `hunch train --report`: what was learned from, and how good the head became. Pure
// functions.
#ifndef HUNCH_APPS_TRAIN_REPORT_H_
#define HUNCH_APPS_TRAIN_REPORT_H_

#include <string>

#include "apps/flags.h"
#include "draft/head_file.h"
#include "train/train_head.h"
#include "train/train_set.h"

namespace hunch {

struct TrainedHead {
  const HeadConfig& config;
  const TrainSet& set;
  const TrainOptions& options;
  const TrainOutcome& outcome;
};

std::string TrainHtml(const TrainedHead& head, const Flags& flags);

}  // namespace hunch

#endif  // HUNCH_APPS_TRAIN_REPORT_H_
