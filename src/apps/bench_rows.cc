// hunch bench rows: what a pass of M rows costs, beside what the machine could do.
#include <fmt/format.h>

#include "apps/bench_rows_report.h"
#include "apps/commands.h"
#include "apps/generate.h"
#include "apps/progress.h"
#include "apps/write_file.h"
#include "base/isa.h"

namespace hunch {
Result<int> BenchRowsCommand(const Flags& flags, Context& context) {
  HUNCH_RETURN_IF_ERROR(ChooseIsa());
  const bool json_out = flags.json_file == "-";
  if (!flags.json_file.empty() && !json_out) HUNCH_RETURN_IF_ERROR(CheckWritable(flags.json_file));
  if (!flags.svg_file.empty()) HUNCH_RETURN_IF_ERROR(CheckWritable(flags.svg_file));
  const RowBenchOptions options = {.model = ModelOptions(flags),
                                   .contexts = flags.contexts,
                                   .rows = flags.rows,
                                   .prompts = flags.prompt_lengths,
                                   .repeats = flags.repeats};
  std::optional<Progress> progress;
  RowBenchView view = {{}, CpuName(), std::string(IsaName(ActiveIsa())), flags.model};
  HUNCH_ASSIGN_OR_RETURN(view.report, context.bench_rows(options, [&](int64_t, int64_t total) {
    if (progress) {
      progress->Advance("measured");
    } else {  // the model is loaded
      context.interrupts.Arm();
      progress.emplace(context.console, total);
    }
    return context.interrupts.Pending() == 0;
  }));
  progress.reset();
  if (view.report.stopped) {
    context.console.err << "hunch bench rows: interrupted before the end; nothing is reported\n";
    return InterruptedExit(context);
  }
  context.console.out << (json_out ? DumpJson(RowsJson(view)) + '\n' : RowsTable(view));
  if (!flags.json_file.empty() && !json_out) {
    HUNCH_RETURN_IF_ERROR(WriteFile(flags.json_file, DumpJson(RowsJson(view)) + '\n'));
  }
  if (!flags.svg_file.empty()) HUNCH_RETURN_IF_ERROR(WriteFile(flags.svg_file, RowsSvg(view)));
  return kExitOk;
}

}  // namespace hunch
