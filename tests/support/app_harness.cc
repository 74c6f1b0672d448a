#include "support/app_harness.h"

#include <gtest/gtest.h>

namespace hunch {

int AppHarness::Run(const std::vector<std::string>& arguments, const std::string& input) {
  out_ = std::ostringstream();
  err_ = std::ostringstream();
  loads.clear();
  calls.clear();
  interrupts.armed = false;
  std::istringstream in(input);
  Context context{.console = {.in = in,
                              .out = out_,
                              .err = err_,
                              .in_tty = in_tty,
                              .out_tty = out_tty,
                              .err_tty = err_tty},
                  .interrupts = interrupts,
                  .load = [this](const LlmOptions& options) -> Result<std::unique_ptr<Llm>> {
                    loads.push_back(options);
                    if (load_error) return *load_error;
                    if (load) return load(options);
                    return MakeLlm();
                  },
                  .inspect = [this](const LlmOptions& options) -> Result<InspectReport> {
                    loads.push_back(options);
                    return inspect_report;
                  },
                  .open_tokenizer = [this](const std::string& path) -> Result<OpenedTokenizer> {
                    if (load_error) return *load_error;
                    if (open_tokenizer) return open_tokenizer(path);
                    return OpenedTokenizer{nullptr, std::make_unique<ByteTokenizer>()};
                  },
                  .bench_rows = [this](const RowBenchOptions& options,
                                       const OnRowBench& on_progress) -> Result<RowBenchReport> {
                    if (bench_rows) return bench_rows(options, on_progress);
                    return Error{ErrorCode::kInternal, "the test gives no bench_rows"};
                  },
                  .make_head_trainer = make_head_trainer,
                  .make_draft_trainer = make_draft_trainer,
                  .demo_prompt = demo_prompt,
                  .heads = heads,
                  .clock = [this] { return now_ += 0x1p-20; }};
  return RunProgram(arguments, context);
}

std::unique_ptr<Llm> AppHarness::MakeLlm() {
  FakeLlmScript own = script;
  own.on_seconds = [this](double seconds) { now_ += seconds; };
  return std::make_unique<FakeLlm>(std::move(own), &calls);
}

nlohmann::ordered_json AppHarness::Json() const {
  const std::string text = out();
  EXPECT_EQ(text.find('\n'), text.size() - 1) << "not one line: " << text;
  auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  EXPECT_TRUE(json.is_object()) << text;
  return json;
}

}  // namespace hunch
