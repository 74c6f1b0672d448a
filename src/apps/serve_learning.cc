#include "apps/serve_learning.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "apps/learn_round.h"

namespace hunch {
namespace {

// Of the drafters that guess with a head: there is one head.
GuessCounts HeadGuessesOf(const SpeculationStats& stats) {
  GuessCounts counts;
  for (const DrafterStats& drafter : stats.drafters) {
    const auto method = ParseDraftMethod(drafter.name);
    if (!method.ok() || method->drafters().size() != 1) continue;
    const DrafterKind kind = method->drafters().front();
    if (!RunsModel(kind) || kind == DrafterKind::kDraftModel) continue;
    counts.verified += drafter.draft_tokens;
    counts.accepted += drafter.accepted_tokens;
  }
  return counts;
}

// A short round: its head only has to be better than the one before.
std::vector<std::string> RoundArguments(const Flags& flags, const std::string& from,
                                        const std::string& to) {
  return {"--learn",        flags.learn, "--model",         flags.model,
          "--from",         from,        "--out",           to,
          "--epochs",       "3",         "--learning-rate", "0.0002",
          "--batch-tokens", "1024",      "--threads",       std::to_string(flags.threads)};
}

}  // namespace

Status CheckLearning(const Flags& flags, const SpeculativeConfig& speculation,
                     const Context& context) {
  if (flags.learn.empty()) return Ok{};
  if (!speculation.UsesHead() && !speculation.UsesModel()) {
    return Error{ErrorCode::kInvalidArgument,
                 "--learn needs a head that guesses: name its file as \"head\" in "
                 "--speculative-config"};
  }
  if (access(context.hunch_train.c_str(), X_OK) != 0) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("--learn needs {}: build it with make train",
                             context.hunch_train.empty() ? "hunch-train" : context.hunch_train)};
  }
  return Ok{};
}

Result<std::unique_ptr<Learner>> StartLearning(const Flags& flags,
                                               const SpeculativeConfig& speculation,
                                               const Context& context, AsyncLlm& llm,
                                               LearnSource& source) {
  const auto config = [&llm, speculation] {
    return llm.swapped_speculation().value_or(speculation);
  };
  LearnHooks hooks;
  hooks.score = [&source](const std::string& head, const LearnedTexts& texts,
                          const std::atomic<bool>& stop) {
    return source.Score(head, texts, stop);
  };
  hooks.train = [&flags, program = context.hunch_train](const std::string& from,
                                                        const std::string& to) {
    return StartRound(program, RoundArguments(flags, from, to), flags.learn + "/train.log");
  };
  const std::string& first = source.head_path();
  hooks.swap = [&llm, config, first](const std::string& head) {
    SpeculativeConfig other = config();
    if (other.model == first) other.model.clear();
    other.head = head;
    return llm.SwapSpeculation(other);
  };
  // Once it was swapped the head has a name, unless another was chosen by hand.
  hooks.in_use = [&llm, first] {
    const auto swapped = llm.swapped_speculation();
    return swapped ? swapped->head : first;
  };
  hooks.guesses = [&llm] { return HeadGuessesOf(llm.stats().speculation); };
  LearnOptions options = {.folder = flags.learn,
                          .head = first,
                          .cap = static_cast<uint64_t>(double{flags.learn_gb} * 1e9),
                          .least_new_tokens = flags.learn_tokens};
  HUNCH_ASSIGN_OR_RETURN(auto learner, Learner::Create(std::move(options), std::move(hooks),
                                                       source.ring(), source.kind()));
  learner->Start();
  return learner;
}

}  // namespace hunch
