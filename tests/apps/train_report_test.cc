#include "apps/train_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/model_runner.h"
#include "train/draft_student.h"
#include "train/head_student.h"

namespace hunch {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TrainReport, ShowsTheCurveAndEscapesNames) {
  const TargetRows target =
      TargetRows::Open(GgufFile::Open(TinyModelPath("llama")).value()).value();
  const HeadStudent student({.taps = {2, 15, 27}, .tokens = {1, 2, 3}}, target, std::nullopt);
  TrainSet set;
  set.learned_tokens = 12345;
  const TrainOptions options;
  TrainOutcome outcome;
  outcome.finished = true;
  outcome.position.best = 1.67;
  outcome.position.curve = {{100000, 10, 3.25, 1.32, {0.3, 0.2}},
                            {200000, 20, 2.5, 1.67, {0.4, 0.3}}};
  Flags flags;
  flags.model = "folder/m.gguf";
  flags.out_file = "<h>.gguf";
  const std::string page = TrainHtml({student, set, options, outcome}, flags);
  EXPECT_THAT(page, HasSubstr("1.67 tokens per pass on held-out answers"));
  EXPECT_THAT(page, HasSubstr("<dd>m.gguf</dd>"));
  EXPECT_THAT(page, HasSubstr("&lt;h&gt;.gguf"));
  EXPECT_THAT(page, Not(HasSubstr("<h>")));
  EXPECT_THAT(page, HasSubstr("2, 15, 27"));
  EXPECT_THAT(page, HasSubstr("<td>2.5000</td><td>1.670</td><td>0.40 0.30</td>"));
  EXPECT_THAT(page, HasSubstr("guess 2: 0.300 after 0.200 million tokens"));
  EXPECT_THAT(page, Not(HasSubstr("before: chains")));
  outcome.finished = false;
  EXPECT_THAT(TrainHtml({student, set, options, outcome}, flags), HasSubstr("Not finished. 1.67"));
}

TEST(TrainReport, SaysWhatAModelWasWorthBefore) {
  const TargetRows target =
      TargetRows::Open(GgufFile::Open(TinyModelPath("llama")).value()).value();
  const auto student = DraftStudent::Create(target.file(), {0, 1}, target, {7, 288}).value();
  TrainOutcome outcome;
  outcome.finished = true;
  outcome.position.best = 1.67;
  outcome.position.curve = {{0, 0, 0, 1.32, {0.3, 0.2}}, {200000, 20, 2.5, 1.67, {0.4, 0.3}}};
  const std::string page = TrainHtml({*student, TrainSet(), TrainOptions(), outcome}, Flags());
  EXPECT_THAT(page,
              HasSubstr("1.67 tokens per pass on held-out answers, 1.32 before: chains of 5"));
  EXPECT_THAT(page, HasSubstr("<td>-</td><td>1.320</td>"));
  EXPECT_THAT(page, HasSubstr("guess 1: 0.300 after 0.000 million tokens"));
  EXPECT_THAT(page, Not(HasSubstr("loss: 0.000 after")));
  EXPECT_THAT(page, HasSubstr("<dd>0, 1</dd>"));
}

}  // namespace
}  // namespace hunch
