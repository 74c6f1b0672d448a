// What /metrics says: names that dashboards know, and the numbers behind them.
#include "server/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include "session/json_text.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;

TEST(MetricsTextTest, NamesAreThoseOfVllmAndCarryTheModel) {
  ServeStats stats;
  stats.running = 3;
  stats.engine.drafts = 5;
  stats.engine.accepted_per_position[1] = 4;
  const std::string text = MetricsText(stats, "smol \"x\"");
  EXPECT_THAT(text, HasSubstr("# TYPE vllm:num_requests_running gauge\n"));
  EXPECT_THAT(text, HasSubstr("vllm:num_requests_running{model_name=\"smol \\\"x\\\"\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE vllm:spec_decode_num_drafts_total counter\n"));
  EXPECT_THAT(text,
              HasSubstr("vllm:spec_decode_num_drafts_total{model_name=\"smol \\\"x\\\"\"} 5"));
  EXPECT_THAT(text,
              HasSubstr("vllm:spec_decode_num_accepted_tokens_per_pos_total{model_name=\"smol "
                        "\\\"x\\\"\",position=\"1\"} 4\n"));
}

TEST(MetricsTextTest, ARequestIsCountedOnce) {
  ServeStats stats;
  RequestOutput output;
  output.token_ids = {1, 2, 3};
  output.prompt_tokens = 10;
  output.finish_reason = FinishReason::kStop;
  output.timings.prefill = 0.03;
  output.timings.decode = 0.02;
  stats.Count(output, 0.5);
  RequestOutput nothing;
  nothing.finish_reason = FinishReason::kCancelled;
  stats.Count(nothing, 2);
  const std::string text = MetricsText(stats, "m");
  EXPECT_THAT(text,
              HasSubstr("request_success_total{model_name=\"m\",finished_reason=\"stop\"} 1"));
  EXPECT_THAT(text, HasSubstr("finished_reason=\"abort\"} 1"));
  EXPECT_THAT(text, HasSubstr("vllm:time_to_first_token_seconds_count{model_name=\"m\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("vllm:time_to_first_token_seconds_sum{model_name=\"m\"} 0.53"));
  EXPECT_THAT(
      text, HasSubstr("vllm:time_per_output_token_seconds_bucket{model_name=\"m\",le=\"0.01\"} 1"));
  EXPECT_THAT(text, HasSubstr("vllm:request_queue_time_seconds_count{model_name=\"m\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("le=\"+Inf\"} 2\n"));
}

TEST(MetricsTextTest, ThePromisesHaveNumbers) {
  ServeStats stats;
  stats.engine.goodput_seconds = 2;
  stats.engine.goodput_plain_seconds = 3;
  stats.engine.budgets = {5, 1, 0, 2};
  stats.engine.draft_tokens = 8;
  stats.audits = {.checked = 7, .mismatched = 1, .dropped = 2};
  std::string text = MetricsText(stats, "m");
  EXPECT_THAT(text, HasSubstr("hunch_goodput_ratio{model_name=\"m\"} 1.5\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE hunch_budget_nodes histogram\n"));
  EXPECT_THAT(text, HasSubstr("hunch_budget_nodes_bucket{model_name=\"m\",le=\"0\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("hunch_budget_nodes_bucket{model_name=\"m\",le=\"4\"} 8\n"));
  EXPECT_THAT(text, HasSubstr("hunch_budget_nodes_count{model_name=\"m\"} 8\n"));
  EXPECT_THAT(text, HasSubstr("hunch_budget_nodes_sum{model_name=\"m\"} 8\n"));
  EXPECT_THAT(text, HasSubstr("hunch_lossless_audit_checked_total{model_name=\"m\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("hunch_lossless_audit_mismatch_total{model_name=\"m\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("hunch_lossless_audit_dropped_total{model_name=\"m\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("hunch_kernel_self_check{model_name=\"m\"} 1\n"));
  stats.kernels_distrusted = 3;
  text = MetricsText(stats, "m");
  EXPECT_THAT(text, HasSubstr("hunch_kernel_self_check{model_name=\"m\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("hunch_kernels_distrusted{model_name=\"m\"} 3\n"));
}

TEST(MetricsTextTest, LearningIsThereOnceItIsAskedFor) {
  ServeStats stats;
  EXPECT_THAT(MetricsText(stats, "m"), testing::Not(HasSubstr("hunch_learn")));
  stats.learning = {
      .rows = 90, .rows_dropped = 4, .swaps = 2, .rollbacks = 1, .replayed_before = 2.5};
  const std::string text = MetricsText(stats, "m");
  EXPECT_THAT(text, HasSubstr("hunch_learn_rows_total{model_name=\"m\"} 90\n"));
  EXPECT_THAT(text, HasSubstr("hunch_learn_rows_dropped_total{model_name=\"m\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("hunch_learn_swaps_total{model_name=\"m\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("hunch_learn_rollbacks_total{model_name=\"m\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("hunch_learn_replayed_before{model_name=\"m\"} 2.5\n"));
}

// The family of a sample's name.
std::string Family(std::string name, const std::string& text) {
  for (const std::string ending : {"_bucket", "_sum", "_count"}) {
    if (!name.ends_with(ending)) continue;
    const std::string histogram = name.substr(0, name.size() - ending.size());
    if (text.find("# TYPE " + histogram + " histogram\n") != std::string::npos) return histogram;
  }
  return name;
}

TEST(MetricsTextTest, TheDashboardNamesOnlyWhatIsExported) {
  const std::string text = MetricsText(ServeStats(), "m");
  std::ifstream file(HUNCH_GOLDEN_DIR "/../../deploy/grafana.json");
  const Json dashboard = Json::parse(file);
  const std::regex names("(vllm:|hunch_)[a-z0-9_]+");
  std::set<std::string> shown;
  int panels = 0;
  for (const Json& panel : dashboard["panels"]) {
    ++panels;
    EXPECT_FALSE(panel["targets"].empty()) << panel["title"];
    for (const Json& target : panel["targets"]) {
      const std::string expression = target["expr"];
      auto name = std::sregex_iterator(expression.begin(), expression.end(), names);
      EXPECT_NE(name, std::sregex_iterator()) << expression;
      for (; name != std::sregex_iterator(); ++name) shown.insert(Family(name->str(), text));
    }
  }
  EXPECT_GT(panels, 10);
  for (const std::string& name : shown) {
    EXPECT_THAT(text, HasSubstr("# TYPE " + name + " ")) << "the dashboard shows what is not there";
  }
}

}  // namespace
}  // namespace hunch
