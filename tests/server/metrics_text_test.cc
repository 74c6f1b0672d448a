// What /metrics says: names that dashboards know, and the numbers behind them.
#include "server/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hunch
