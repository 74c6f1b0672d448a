#include "server/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace hunch {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

class Families {
 public:
  explicit Families(const std::string& model_name) : model_{"model_name", model_name} {}

  void Counter(std::string_view name, std::string_view help, double value) {
    Family(name, help, MetricType::Counter).metric.push_back(Sample());
    families_.back().metric.back().counter.value = value;
  }
  // One sample for each value of a label.
  void Counters(std::string_view name, std::string_view help, const std::string& label,
                const std::vector<std::pair<std::string, double>>& samples) {
    MetricFamily& family = Family(name, help, MetricType::Counter);
    for (const auto& [value, count] : samples) {
      family.metric.push_back(Sample());
      family.metric.back().label.push_back({label, value});
      family.metric.back().counter.value = count;
    }
  }
  void Gauge(std::string_view name, std::string_view help, double value) {
    Family(name, help, MetricType::Gauge).metric.push_back(Sample());
    families_.back().metric.back().gauge.value = value;
  }
  // counts[i]: of values at most bounds[i] and above the bound before.
  void Classes(std::string_view name, std::string_view help, std::span<const int> bounds,
               std::span<const int64_t> counts, double sum) {
    ClientMetric sample = Sample();
    uint64_t cumulative = 0;
    for (size_t i = 0; i < bounds.size(); ++i) {
      cumulative += static_cast<uint64_t>(counts[i]);
      sample.histogram.bucket.push_back({cumulative, static_cast<double>(bounds[i])});
    }
    sample.histogram.bucket.push_back({cumulative, std::numeric_limits<double>::infinity()});
    sample.histogram.sample_count = cumulative;
    sample.histogram.sample_sum = sum;
    Family(name, help, MetricType::Histogram).metric.push_back(std::move(sample));
  }
  void Add(std::string_view name, std::string_view help, const Histogram& histogram) {
    ClientMetric sample = Sample();
    uint64_t cumulative = 0;
    for (size_t i = 0; i <= histogram.bounds().size(); ++i) {
      cumulative += histogram.count(i);
      const double bound = i < histogram.bounds().size() ? histogram.bounds()[i]
                                                         : std::numeric_limits<double>::infinity();
      sample.histogram.bucket.push_back({cumulative, bound});
    }
    sample.histogram.sample_count = cumulative;
    sample.histogram.sample_sum = histogram.sum();
    Family(name, help, MetricType::Histogram).metric.push_back(std::move(sample));
  }
  std::string Text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  MetricFamily& Family(std::string_view name, std::string_view help, MetricType type) {
    families_.push_back({std::string(name), std::string(help), type, {}});
    return families_.back();
  }
  ClientMetric Sample() const {
    ClientMetric sample;
    sample.label.push_back(model_);
    return sample;
  }

  ClientMetric::Label model_;
  std::vector<MetricFamily> families_;
};

double Number(int64_t count) { return static_cast<double>(count); }

void AddRequests(const ServeStats& stats, Families& families) {
  families.Gauge("vllm:num_requests_running", "Requests that run", stats.running);
  families.Gauge("vllm:num_requests_waiting", "Requests that wait to run", stats.waiting);
  families.Gauge("vllm:kv_cache_usage_perc", "Share of the KV blocks that running requests hold",
                 stats.kv_usage);
  std::vector<std::pair<std::string, double>> finished;
  for (const FinishReason reason : {FinishReason::kStop, FinishReason::kLength,
                                    FinishReason::kCancelled, FinishReason::kStuck}) {
    // vLLM's word for the last.
    const std::string name(reason == FinishReason::kCancelled ? "abort" : FinishReasonName(reason));
    finished.emplace_back(name, Number(stats.finished[static_cast<size_t>(reason)]));
  }
  families.Counters("vllm:request_success_total", "Requests that are over, by reason",
                    "finished_reason", finished);
  families.Add("vllm:time_to_first_token_seconds", "From the request to its first token",
               stats.first_token);
  families.Add("vllm:time_per_output_token_seconds", "Mean time of a request's further tokens",
               stats.per_token);
  families.Add("vllm:e2e_request_latency_seconds", "From the request to its last token",
               stats.request);
  families.Add("vllm:request_queue_time_seconds", "From the request until it runs", stats.queue);
  families.Add("vllm:request_prompt_tokens", "Tokens of a request's prompt", stats.prompt_tokens);
  families.Add("vllm:request_generation_tokens", "Tokens of a request's answer",
               stats.generation_tokens);
}

void AddTokens(const EngineTotals& totals, Families& families) {
  families.Counter("vllm:prompt_tokens_total", "Prompt tokens read", Number(totals.prompt_tokens));
  families.Counter("vllm:generation_tokens_total", "Tokens answered",
                   Number(totals.generation_tokens));
  families.Counter("vllm:num_preemptions_total", "Requests that gave their KV blocks back",
                   Number(totals.preemptions));
  families.Counter("vllm:prefix_cache_queries_total", "Tokens that the prefix cache was asked for",
                   Number(totals.cache_queries));
  families.Counter("vllm:prefix_cache_hits_total", "Tokens that the prefix cache had",
                   Number(totals.cache_hits));
  families.Counter("hunch_steps_total", "Passes of the model", Number(totals.steps));
}

void AddSpeculation(const EngineTotals& totals, Families& families) {
  families.Counter("vllm:spec_decode_num_drafts_total", "Trees of guesses verified",
                   Number(totals.drafts));
  families.Counter("vllm:spec_decode_num_draft_tokens_total", "Guesses verified",
                   Number(totals.draft_tokens));
  families.Counter("vllm:spec_decode_num_accepted_tokens_total", "Guesses accepted",
                   Number(totals.accepted_tokens));
  std::vector<std::pair<std::string, double>> positions;
  for (int depth = 0; depth < EngineTotals::kDepths; ++depth) {
    positions.emplace_back(std::to_string(depth), Number(totals.accepted_per_position[depth]));
  }
  families.Counters("vllm:spec_decode_num_accepted_tokens_per_pos_total",
                    "Guesses accepted, by depth; the last depth stands for all beyond", "position",
                    positions);
  families.Counter("hunch_fallbacks_total", "Times that a request went back to plain decoding",
                   Number(totals.fallbacks));
  families.Counter("hunch_drafter_errors_total", "Drafters that failed and were dropped",
                   Number(totals.drafter_errors));
  families.Counter("hunch_draft_seconds_total", "Time spent on guessing", totals.draft_seconds);
  families.Counter("hunch_verify_seconds_total",
                   "Time of the passes that decode, for each request in them",
                   totals.target_seconds);
  families.Counter("hunch_plain_seconds_total",
                   "What one-token passes would have taken for the same tokens",
                   totals.plain_seconds);
  families.Gauge(
      "hunch_goodput_ratio",
      "Tokens per second over those of the same batches without guesses, by the measured "
      "cost of passes; 0: not known yet",
      totals.goodput_ratio());
  families.Counter("hunch_goodput_seconds_total",
                   "Time of the steps in which all requests decode, with their guessing",
                   totals.goodput_seconds);
  families.Counter("hunch_goodput_plain_seconds_total",
                   "What steps without guesses would have taken for the same tokens",
                   totals.goodput_plain_seconds);
  families.Classes("hunch_budget_nodes",
                   "Guesses that the budget chose to verify, for each request in each step",
                   EngineTotals::kBudgetBounds, totals.budgets, Number(totals.draft_tokens));
}

// Of the promises: that the text is the same, and that the kernels give the reference's bits.
void AddChecks(const ServeStats& stats, Families& families) {
  families.Counter("hunch_lossless_audit_checked_total",
                   "Answers decoded again plainly and compared", Number(stats.audits.checked));
  families.Counter("hunch_lossless_audit_mismatch_total", "Of these, answers that differed",
                   Number(stats.audits.mismatched));
  families.Counter("hunch_lossless_audit_dropped_total",
                   "Audits for which there was no room or no time", Number(stats.audits.dropped));
  families.Gauge("hunch_kernel_self_check",
                 "1: every kernel gave the reference's bits at the start; 0: some did not, and the "
                 "reference runs instead",
                 stats.kernels_distrusted == 0 ? 1 : 0);
  families.Gauge("hunch_kernels_distrusted", "Kernels that the reference replaces",
                 stats.kernels_distrusted);
}

void AddLearning(const LearnStats& stats, Families& families) {
  families.Counter("hunch_learn_rows_total", "Committed rows taken to learn from",
                   Number(stats.rows));
  families.Counter("hunch_learn_rows_dropped_total", "Rows for which the ring had no room",
                   Number(stats.rows_dropped));
  families.Counter("hunch_learn_texts_total", "Texts that came of them", Number(stats.texts));
  families.Gauge("hunch_learn_segment_bytes", "What is kept of them on the disk",
                 static_cast<double>(stats.segment_bytes));
  families.Counter("hunch_learn_rounds_total", "Rounds of training begun", Number(stats.rounds));
  families.Counter("hunch_learn_failed_rounds_total", "Of these, rounds that failed",
                   Number(stats.failed_rounds));
  families.Counter("hunch_learn_comparisons_total", "Times that two heads were compared",
                   Number(stats.comparisons));
  families.Counter("hunch_learn_swaps_total", "Heads that were learned and put into use",
                   Number(stats.swaps));
  families.Counter("hunch_learn_rollbacks_total", "Of these, heads that were taken back",
                   Number(stats.rollbacks));
  families.Gauge("hunch_learn_replayed_before",
                 "Tokens per pass of the older head in the last comparison; 0: there was none",
                 stats.replayed_before);
  families.Gauge("hunch_learn_replayed_after", "Those of the newer head", stats.replayed_after);
}

}  // namespace

std::string MetricsText(const ServeStats& stats, const std::string& model_name) {
  Families families(model_name);
  AddRequests(stats, families);
  AddTokens(stats.engine, families);
  AddSpeculation(stats.engine, families);
  AddChecks(stats, families);
  if (stats.learning) AddLearning(*stats.learning, families);
  return families.Text();
}

}  // namespace hunch
