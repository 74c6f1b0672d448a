// What a subcommand may touch of the outside world. process.cc fills it with the real things,
// tests with fakes; no subcommand uses a stream, a signal or the environment in another way.
// Not thread safe.
#ifndef HUNCH_APPS_CONTEXT_H_
#define HUNCH_APPS_CONTEXT_H_

#include <chrono>
#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <string>

#include "base/result.h"
#include "session/llm.h"
#include "session/row_bench.h"
#include "tokenizer/tokenizer.h"
#include "train/head_trainer.h"
#include "weights/gguf.h"

namespace hunch {

struct Console {
  std::istream& in;
  std::ostream& out;  // goes bad when nobody reads it any more
  std::ostream& err;
  bool in_tty = false, out_tty = false, err_tty = false;
};

// Ctrl-C and SIGTERM, as a flag that is polled between tokens.
class Interrupts {
 public:
  virtual ~Interrupts() = default;
  // Until Arm a signal ends the process at once: nothing is worth saving while a model loads.
  virtual void Arm() = 0;
  // The signal that arrived since Arm or Clear; 0: none.
  virtual int Pending() const = 0;
  virtual void Clear() = 0;
};

// A tokenizer and the file that it may point into.
struct OpenedTokenizer {
  std::unique_ptr<GgufFile> file;
  std::unique_ptr<Tokenizer> tokenizer;
};

// Reads the header only, not the weights.
Result<OpenedTokenizer> OpenTokenizer(const std::string& path);

struct Context {
  Console console;
  Interrupts& interrupts;
  std::function<Result<std::unique_ptr<Llm>>(const LlmOptions&)> load;
  std::function<Result<InspectReport>(const LlmOptions&)> inspect;
  std::function<Result<OpenedTokenizer>(const std::string& path)> open_tokenizer;
  std::function<Result<RowBenchReport>(const RowBenchOptions&, const OnRowBench&)> bench_rows;
  // What computes in training; empty: this is not hunch-train.
  MakeHeadTrainer make_head_trainer = {};
  MakeDraftTrainer make_draft_trainer = {};
  // Becomes hunch-train, with the same arguments; returns only if that cannot be.
  std::function<Error()> become_hunch_train = {};
  // Has this process run only where nobody else wants to, and end with the one that started it.
  std::function<void()> serve_quietly = [] {};
  std::string hunch_train = {};  // its path, for rounds of learning while serving
  std::string demo_prompt;       // HUNCH_PROMPT; "": not set
  std::string heads;             // folder of the heads that are shipped; "": there is none
  // Seconds since some moment, never falling.
  std::function<double()> clock = [] {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
  };
};

// Exit codes of every subcommand.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;    // memory, I/O, a model that does not fit
inline constexpr int kExitUsage = 2;      // a flag, a file or a request is wrong
inline constexpr int kExitDifferent = 3;  // speculation changed an output
// 128 + signal number: interrupted, after printing what there was.

}  // namespace hunch

#endif  // HUNCH_APPS_CONTEXT_H_
