// The budget over recorded text: regret against the best constant setting in hindsight, and never
// slower than plain decoding. On a simulated clock, so that nothing here is timed.
#include <gtest/gtest.h>

#include "sched/budget.h"
#include "support/budget_simulation.h"
#include "support/files.h"

namespace hunch {
namespace {

class BudgetSimulation : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    auto texts = ReadTexts(GoldenPath("traces"));
    ASSERT_TRUE(texts.ok()) << texts.error().message;
    for (AcceptanceTrace& text : *texts) {
      // With a draft model, and with prompt lookup alone.
      texts_.push_back(text);
      AcceptanceTrace free = OnlyDrafter(text, 0);
      free.name += ", ngram";
      texts_.push_back(std::move(free));
    }
    ASSERT_GE(texts_.size(), 20u);
  }
  SimulatedMachine Machine() const { return GetParam() ? Avx2Machine() : VnniMachine(); }

  std::vector<AcceptanceTrace> texts_;
};

double Share(const SimulationResult& result, const SimulationResult& of) {
  return result.seconds / of.seconds - 1;
}

TEST_P(BudgetSimulation, RegretIsAtMost5PercentAndNeverSlowerThanPlain) {
  const SimulatedMachine machine = Machine();
  double sum = 0;
  for (const AcceptanceTrace& text : texts_) {
    const SimulationResult goodput = SimulateBudget(text, machine, {});
    const BestConstant best = SimulateBestConstant(text, machine);
    ASSERT_EQ(goodput.tokens, best.result.tokens);
    EXPECT_LE(Share(goodput, best.result), 0.05) << text.name << ", best " << best.name;
    EXPECT_LE(Share(goodput, SimulatePlain(text, machine)), 0.03) << text.name;
    sum += Share(goodput, best.result);
  }
  EXPECT_LE(sum, 0) << "on the whole it is faster than any constant setting";
}

// After a long easy text the draft model has hundreds of tokens to read before it is of use: no bet
// on that may cost more than the rest can bring.
TEST_P(BudgetSimulation, ALongTextThatBecomesHard) {
  const auto named = [&](const std::string& name) {
    for (const AcceptanceTrace& text : texts_) {
      if (text.name == name) return text;
    }
    ADD_FAILURE() << "no " << name;
    return AcceptanceTrace();
  };
  AcceptanceTrace text = Joined(named("code_edit"), named("chat"), 600);
  for (const char* more : {"question_answering", "chat", "chat_warm"}) {
    text = Joined(text, named(more), 10000);
  }
  const SimulatedMachine machine = Machine();
  const SimulationResult goodput = SimulateBudget(text, machine, {});
  const BestConstant best = SimulateBestConstant(text, machine);
  EXPECT_LE(Share(goodput, best.result), 0.05) << "best " << best.name;
}

// Passes that vary by 6 %, and one in fifty that takes three times as long.
TEST_P(BudgetSimulation, TheSameOnANoisyMachine) {
  SimulatedMachine machine = Machine();
  machine.noise = 0.06;
  machine.hiccups = 0.02;
  double sum = 0;
  for (const AcceptanceTrace& text : texts_) {
    const SimulationResult goodput = SimulateBudget(text, machine, {});
    const BestConstant best = SimulateBestConstant(text, machine);
    EXPECT_LE(Share(goodput, best.result), 0.08) << text.name << ", best " << best.name;
    EXPECT_LE(Share(goodput, SimulatePlain(text, machine)), 0.03) << text.name;
    sum += Share(goodput, best.result);
  }
  EXPECT_LE(sum, 0);
}

// Each further row really costs twice what was measured at load, and the draft model twice too.
TEST_P(BudgetSimulation, NeverSlowerThanPlainOnAMachineThatWasMeasuredWrong) {
  SimulatedMachine machine = Machine();
  machine.believed = machine.curve;
  const double plain = machine.curve[0].seconds;
  for (PassTime& time : machine.curve) time.seconds += time.seconds - plain;
  double sum = 0;
  for (const AcceptanceTrace& text : texts_) {
    const SimulationResult goodput = SimulateBudget(text, machine, {});
    EXPECT_LE(Share(goodput, SimulatePlain(text, machine)), 0.03) << text.name;
    const BestConstant best = SimulateBestConstant(text, machine);
    EXPECT_LE(Share(goodput, best.result), 0.12) << text.name << ", best " << best.name;
    sum += Share(goodput, best.result);
  }
  EXPECT_LE(sum, 0.03 * static_cast<double>(texts_.size()));
}

// A machine that becomes slower as a whole changes nothing about what pays.
TEST_P(BudgetSimulation, AMeasurementThatIsOffByAFactorDoesNoHarm) {
  SimulatedMachine machine = Machine();
  machine.believed = machine.curve;
  for (PassTime& time : machine.believed) time.seconds *= 0.7;
  for (const AcceptanceTrace& text : texts_) {
    EXPECT_LE(Share(SimulateBudget(text, machine, {}), SimulatePlain(text, machine)), 0.03)
        << text.name;
  }
}

// What was learned in one sequence helps the next of its kind, and does not mislead one of another.
TEST_P(BudgetSimulation, AWarmBudgetIsNotMisled) {
  const SimulatedMachine machine = Machine();
  Budget budget = MakeBudget(machine);
  double sum = 0;
  for (int round = 0; round < 2; ++round) {
    for (const AcceptanceTrace& text : texts_) {
      const SimulationResult goodput = SimulateBudget(text, machine, {}, &budget);
      EXPECT_LE(Share(goodput, SimulatePlain(text, machine)), 0.03) << text.name;
      sum += Share(goodput, SimulateBestConstant(text, machine).result);
    }
  }
  EXPECT_LE(sum, 0);
}

// The rule of thumb that it is compared with.
TEST_P(BudgetSimulation, BeatsTheThresholdRuleOnTheWhole) {
  double goodput = 0, threshold = 0;
  for (const AcceptanceTrace& text : texts_) {
    goodput += SimulateBudget(text, Machine(), {}).seconds;
    threshold += SimulateBudget(text, Machine(), {.policy = Policy::kThreshold}).seconds;
  }
  EXPECT_LT(goodput, 0.95 * threshold);
}

// What it expects of its trees is what comes: the calibration is right on average.
TEST_P(BudgetSimulation, PredictsWhatItsTreesBring) {
  double predicted = 0, realised = 0;
  for (const AcceptanceTrace& text : texts_) {
    if (text.name.find("wrong") != std::string::npos) continue;
    const SimulationResult result = SimulateBudget(text, Machine(), {});
    predicted += result.predicted;
    realised += result.realised;
  }
  EXPECT_NEAR(predicted / realised, 1, 0.07);
}

INSTANTIATE_TEST_SUITE_P(Machines, BudgetSimulation, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Avx2" : "Vnni");
});

}  // namespace
}  // namespace hunch
