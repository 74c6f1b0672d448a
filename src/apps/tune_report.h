// What came of a `hunch tune`, for programs and as a page. Pure functions.
#ifndef HUNCH_APPS_TUNE_REPORT_H_
#define HUNCH_APPS_TUNE_REPORT_H_

#include <string>
#include <vector>

#include "apps/flags.h"
#include "apps/tune_table.h"
#include "session/json_text.h"

namespace hunch {

struct TuneDraft {
  std::string path;
  DrafterKind kind = DrafterKind::kDraftModel;
  double cost_ratio = 0;  // a pass of it over one of the target; 0: not measured
  std::string line;       // CostRatioLine
};

struct TuneResults {
  std::vector<TuneEntry> entries;  // [0]: plain decoding
  std::vector<TuneDraft> drafts;
  std::vector<std::string> differences;  // a line for each output that is not plain decoding's
  std::vector<PassTime> pass_times;
  size_t prompts = 0, skipped = 0;
  int threads = 0, max_model_len = 0;
  bool interrupted = false;

  // Of the table, from entries and pass times.
  std::vector<TuneRow> rows;
  int chosen = -1;
};

Json TuneJson(const TuneResults& results, const Flags& flags);
std::string TuneHtml(const TuneResults& results, const Flags& flags);

}  // namespace hunch

#endif  // HUNCH_APPS_TUNE_REPORT_H_
