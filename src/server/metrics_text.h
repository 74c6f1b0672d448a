// /metrics: what serving does, as Prometheus reads it. Names are vLLM's where it has the metric, so
// that dashboards made for it work; those that only Hunch has begin with hunch. Pure.
#ifndef HUNCH_SERVER_METRICS_TEXT_H_
#define HUNCH_SERVER_METRICS_TEXT_H_

#include <string>

#include "session/serve_stats.h"

namespace hunch {

// The text exposition format, version 0.0.4; every sample carries the model's name.
std::string MetricsText(const ServeStats& stats, const std::string& model_name);

}  // namespace hunch

#endif  // HUNCH_SERVER_METRICS_TEXT_H_
