// Runs the `hunch` program inside a test: strings for the console, fakes for the rest of its world.
// Not thread safe.
#ifndef HUNCH_TESTS_SUPPORT_APP_HARNESS_H_
#define HUNCH_TESTS_SUPPORT_APP_HARNESS_H_

#include <atomic>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "apps/commands.h"
#include "apps/context.h"
#include "support/fake_llm.h"

namespace hunch {

class FakeInterrupts : public Interrupts {
 public:
  void Arm() override { armed = true; }
  int Pending() const override { return pending; }
  void Clear() override { pending = 0; }

  std::atomic<bool> armed = false;
  std::atomic<int> pending = 0;  // a test may set it while the program runs in another thread
};

class AppHarness {
 public:
  // The program's exit code. What was printed, loaded and asked is that of the last run.
  int Run(const std::vector<std::string>& arguments, const std::string& input = "");

  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }
  // The one object on the console's out; fails the test if it is anything else.
  nlohmann::ordered_json Json() const;
  // Nobody reads the console's out any more.
  void CloseOut() { out_.setstate(std::ios::badbit); }

  FakeLlmScript script;
  FakeInterrupts interrupts;
  bool in_tty = false, out_tty = false, err_tty = false;
  std::string demo_prompt;
  std::string heads;
  std::optional<Error> load_error;
  // Instead of the fake model and tokenizer.
  decltype(Context::load) load;
  decltype(Context::open_tokenizer) open_tokenizer;
  // Instead of an error: `bench rows` has no fake model.
  decltype(Context::bench_rows) bench_rows;
  MakeHeadTrainer make_head_trainer;  // empty: this program is not hunch-train
  MakeDraftTrainer make_draft_trainer;
  Result<InspectReport> inspect_report = InspectReport{};

  std::vector<LlmOptions> loads;
  std::vector<FakeLlm::Call> calls;

 private:
  std::unique_ptr<Llm> MakeLlm();

  double now_ = 0;  // the clock: it moves while answers are made, as the script says
  std::ostringstream out_, err_;
};

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_APP_HARNESS_H_
