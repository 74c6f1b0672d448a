#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "base/one_line.h"

namespace hunch {
namespace {

spdlog::logger& Logger() {
  static const auto logger = [] {
    auto made = spdlog::stderr_color_mt("hunch");
    made->set_pattern("%^%l%$: %v");
    return made;
  }();
  return *logger;
}

}  // namespace

void LogWarning(std::string_view message) { Logger().warn("{}", OneLine(message)); }

}  // namespace hunch
