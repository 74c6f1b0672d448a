// The program `hunch-train`: `hunch train` with PyTorch in it. `hunch` becomes this program, so
// that it needs none itself.
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "apps/learn_round.h"
#include "apps/process.h"
#include "base/idle_priority.h"
#include "base/one_line.h"
#include "train/draft_torch.h"
#include "train/eagle_torch.h"
#include "train/medusa_torch.h"

namespace hunch {
namespace {

// Every update takes and gives back tensors of tens of megabytes. Memory that goes back to the
// system in between is cleared by it each time.
void KeepMemory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

std::unique_ptr<HeadTrainer> MakeTrainerOfHead(const HeadStart& start) {
  KeepMemory();
  return start.config.kind == HeadKind::kMedusa ? MakeMedusaTrainer(start)
                                                : MakeEagleTrainer(start);
}

std::unique_ptr<HeadTrainer> MakeTrainerOfDraft(const DraftStart& start) {
  KeepMemory();
  return MakeDraftModelTrainer(start);
}

int Main(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "train");
  try {
    return RunProcess("hunch-train", arguments, STDOUT_FILENO, [](Context& context) {
      context.make_head_trainer = &MakeTrainerOfHead;
      context.make_draft_trainer = &MakeTrainerOfDraft;
      context.serve_quietly = [] {
        BecomeIdle();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        // It may have ended while this program was being loaded.
        const char* const server = std::getenv(kRoundParent);
        if (server != nullptr && std::to_string(getppid()) != server) std::_Exit(kExitFailure);
      };
    });
  } catch (const std::exception& error) {  // of PyTorch
    std::cerr << OneLine(std::string("hunch train: ") + error.what()) << '\n';
    return kExitFailure;
  }
}

}  // namespace
}  // namespace hunch

int main(int argc, char** argv) {
  return hunch::Main(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
