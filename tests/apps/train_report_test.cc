#include "apps/train_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hunch {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TrainReport, ShowsTheCurveAndEscapesNames) {
  const HeadConfig config = {.taps = {2, 15, 27}, .tokens = {1, 2, 3}};
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
  const std::string page = TrainHtml({config, set, options, outcome}, flags);
  EXPECT_THAT(page, HasSubstr("1.67 tokens per pass on held-out answers"));
  EXPECT_THAT(page, HasSubstr("<dd>m.gguf</dd>"));
  EXPECT_THAT(page, HasSubstr("&lt;h&gt;.gguf"));
  EXPECT_THAT(page, Not(HasSubstr("<h>")));
  EXPECT_THAT(page, HasSubstr("2, 15, 27"));
  EXPECT_THAT(page, HasSubstr("<td>2.5000</td><td>1.670</td><td>0.40 0.30</td>"));
  EXPECT_THAT(page, HasSubstr("guess 2: 0.300 after 0.200 million tokens"));
  outcome.finished = false;
  EXPECT_THAT(TrainHtml({config, set, options, outcome}, flags), HasSubstr("Not finished. 1.67"));
}

}  // namespace
}  // namespace hunch
