// Tests that the rules `ratio` and `block` sample the target's distribution exactly: chi-square on
// a toy vocabulary of 8 over every shape of tree, with fixed seeds, at p > 1e-5 each; that the same
// test catches broken rules; and how often guesses are accepted, against the exact numbers.
#include "verify/accept_ratio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "support/chi_square.h"
#include "support/fake_drafters.h"

namespace hunch {
namespace {

constexpr int kVocab = 8;
constexpr size_t kPrompt = 2;
constexpr double kSigmas = 4.265;  // p = 1e-5

using Ids = std::vector<TokenId>;

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return x ^ (x >> 33);
}

// Who says what comes next. The drafters' opinions are the target's, disturbed.
enum Voice { kTarget, kDrafter, kOther };

std::vector<float> LogitsAfter(std::span<const TokenId> prefix, Voice voice) {
  uint64_t hash = 17;
  for (const TokenId token : prefix) hash = Mix(hash * 31 + static_cast<uint64_t>(token) + 1);
  std::vector<float> row;
  for (uint64_t token = 0; token < kVocab; ++token) {
    const auto unit = [&](uint64_t salt) {
      return static_cast<float>(Mix(hash ^ (salt << 40) ^ (token << 20)) >> 40) * 0x1p-24f;
    };
    row.push_back(2.5f * unit(1) + (voice == kTarget ? 0.0f : 3.0f * unit(1 + voice)));
  }
  return row;
}

// Builds the trees of one request, as a drafter would.
class Grower {
 public:
  Grower(Sampler& sampler, RatioNoise& noise) : sampler_(sampler), noise_(noise) {}

  void Begin(std::span<const TokenId> committed) {
    committed_.assign(committed.begin(), committed.end());
    tree.clear();
    tree.law_width = kVocab;
  }
  // `count` children drawn from the voice's law; what repeats a sibling is left out. The new nodes.
  std::vector<int32_t> Draw(int32_t parent, int count, Voice voice = kDrafter) {
    const Ids prefix = Prefix(parent);
    const std::vector<float> row = LogitsAfter(prefix, voice);
    std::vector<float> law;
    sampler_.Law(prefix, row, law);
    const int32_t index = static_cast<int32_t>(tree.law_rows.size()) / kVocab;
    tree.law_rows.insert(tree.law_rows.end(), law.begin(), law.end());
    std::vector<Candidate> drawn;
    sampler_.Draw(prefix, row, count, noise_, drawn);
    std::vector<int32_t> added;
    for (const Candidate& guess : drawn) {
      if (Find(parent, guess.token) >= 0) continue;
      added.push_back(tree.Add(guess.token, parent, guess.probability, index));
    }
    return added;
  }
  // A child without chance in it: the voice's best token. The node that carries it.
  int32_t Guess(int32_t parent, Voice voice = kDrafter) {
    const std::vector<float> row = LogitsAfter(Prefix(parent), voice);
    const TokenId best =
        static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin());
    const int32_t there = Find(parent, best);
    return there >= 0 ? there : tree.Add(best, parent, 0.5f);
  }

  DraftTree tree;

 private:
  Ids Prefix(int32_t node) const {
    Ids path;
    for (int32_t at = node; at >= 0; at = tree.parents[at]) path.push_back(tree.tokens[at]);
    Ids prefix = committed_;
    prefix.insert(prefix.end(), path.rbegin(), path.rend());
    return prefix;
  }
  int32_t Find(int32_t parent, TokenId token) const {
    for (int32_t node = 0; node < tree.size(); ++node) {
      if (tree.parents[node] == parent && tree.tokens[node] == token) return node;
    }
    return -1;
  }

  Sampler& sampler_;
  RatioNoise& noise_;
  Ids committed_;
};

using Shape = std::function<void(Grower&)>;

Shape Chain(int length, Voice voice = kDrafter) {
  return [=](Grower& grow) {
    int32_t node = -1;
    for (int i = 0; i < length; ++i) {
      const std::vector<int32_t> drawn = grow.Draw(node, 1, voice);
      node = drawn.front();
    }
  };
}
Shape Siblings(int count) {
  return [=](Grower& grow) { grow.Draw(-1, count); };
}
void TwoByTwo(Grower& grow) {
  for (const int32_t node : grow.Draw(-1, 2)) grow.Draw(node, 2);
}
void CertainChain(Grower& grow) { grow.Guess(grow.Guess(grow.Guess(-1)), kOther); }
void CertainThenDrawn(Grower& grow) {
  const int32_t certain = grow.Guess(-1);
  for (const int32_t node : grow.Draw(-1, 2)) grow.Guess(node, kOther);
  grow.Draw(certain, 1);
}
void DrawnThenCertain(Grower& grow) {
  const std::vector<int32_t> drawn = grow.Draw(-1, 1);
  grow.Draw(grow.Guess(-1, kOther), 2);
  grow.Guess(drawn.front());
}
void MixedChain(Grower& grow) { grow.Guess(grow.Draw(grow.Guess(-1), 1).front(), kOther); }
// Two drafters with laws of their own.
void Merged(Grower& grow) {
  const std::vector<int32_t> first = grow.Draw(-1, 2);
  const std::vector<int32_t> second = grow.Draw(-1, 2, kOther);
  grow.Draw(first.front(), 1, kOther);
  if (!second.empty()) grow.Draw(second.front(), 2);
  grow.Guess(-1, kTarget);
}
// How far it goes depends on what was drawn; a node never on its own token.
void StopsEarly(Grower& grow) {
  int32_t node = -1;
  while (grow.tree.size() < 4 && (node < 0 || grow.tree.tokens[node] % 2 == 0)) {
    node = grow.Draw(node, 1).front();
  }
}
void GrowsWhereLikely(Grower& grow) {
  for (const int32_t node : grow.Draw(-1, 3)) {
    if (grow.tree.probabilities[node] > 0.2f) grow.Draw(node, grow.tree.tokens[node] % 3 + 1);
  }
}
void Nothing(Grower&) {}

using Acceptor = std::function<void(const DraftTree&, const LogitsRows&, std::span<const TokenId>,
                                    Sampler&, RatioNoise&, Verdict&)>;

Acceptor Real(AcceptanceRule rule) {
  return [rule, acceptor = std::make_shared<RatioAcceptor>()](
             const DraftTree& tree, const LogitsRows& rows, std::span<const TokenId> committed,
             Sampler& sampler, RatioNoise& noise, Verdict& verdict) {
    acceptor->Accept(rule, tree, rows, committed, sampler, noise, verdict);
  };
}

struct Trial {
  SamplingParams params;
  Shape shape = Nothing;
  Acceptor accept;
  int runs = 12000;
  uint32_t draft_stream = RatioNoise::kFirstDrafter;
};

SamplingParams AtTemperature(float temperature) {
  SamplingParams params;
  params.temperature = temperature;
  return params;
}

struct Outcome {
  std::vector<double> pairs = std::vector<double>(kVocab * kVocab);
  std::vector<double> triples = std::vector<double>(kVocab * kVocab * kVocab);
  std::vector<double> accepted = std::vector<double>(8);  // first steps that accepted so many
};

Outcome RunTrial(const Trial& trial) {
  Outcome outcome;
  Sampler sampler(trial.params, kVocab, kPrompt, {});
  Verdict verdict;
  std::vector<float> rows;
  for (int seed = 0; seed < trial.runs; ++seed) {
    RatioNoise verify(static_cast<uint64_t>(seed), 0, RatioNoise::kVerify);
    RatioNoise draft(static_cast<uint64_t>(seed), 0, trial.draft_stream);
    Grower grow(sampler, draft);
    Ids text = {3, 5};
    for (int step = 0; text.size() < kPrompt + 3; ++step) {
      grow.Begin(text);
      trial.shape(grow);
      rows = LogitsAfter(text, kTarget);
      for (int32_t node = 0; node < grow.tree.size(); ++node) {
        Ids path;
        for (int32_t at = node; at >= 0; at = grow.tree.parents[at]) {
          path.push_back(grow.tree.tokens[at]);
        }
        Ids prefix = text;
        prefix.insert(prefix.end(), path.rbegin(), path.rend());
        const std::vector<float> row = LogitsAfter(prefix, kTarget);
        rows.insert(rows.end(), row.begin(), row.end());
      }
      trial.accept(grow.tree, {rows.data(), kVocab, kVocab}, text, sampler, verify, verdict);
      EXPECT_EQ(verdict.tokens.size(), verdict.path.size() + 1);
      if (step == 0) ++outcome.accepted[verdict.path.size()];
      for (const TokenChoice& choice : verdict.tokens) text.push_back(choice.token);
    }
    const int pair = text[kPrompt] * kVocab + text[kPrompt + 1];
    ++outcome.pairs[static_cast<size_t>(pair)];
    ++outcome.triples[static_cast<size_t>(pair * kVocab + text[kPrompt + 2])];
  }
  return outcome;
}

// The target's law of the first `depth` tokens.
std::vector<double> JointLaw(const SamplingParams& params, int depth) {
  Sampler sampler(params, kVocab, kPrompt, {});
  std::vector<double> joint = {1};
  std::vector<Ids> prefixes = {{3, 5}};
  for (int i = 0; i < depth; ++i) {
    std::vector<double> next;
    std::vector<Ids> longer;
    for (size_t at = 0; at < prefixes.size(); ++at) {
      std::vector<float> law;
      sampler.Law(prefixes[at], LogitsAfter(prefixes[at], kTarget), law);
      for (TokenId token = 0; token < kVocab; ++token) {
        next.push_back(joint[at] * static_cast<double>(law[static_cast<size_t>(token)]));
        longer.push_back(prefixes[at]);
        longer.back().push_back(token);
      }
    }
    joint = next;
    prefixes = longer;
  }
  return joint;
}

// The larger of how far pairs and triples are off.
double SigmasOf(const Trial& trial) {
  const Outcome outcome = RunTrial(trial);
  return std::max(ChiSquareOf(outcome.pairs, JointLaw(trial.params, 2)).Sigmas(),
                  ChiSquareOf(outcome.triples, JointLaw(trial.params, 3)).Sigmas());
}

struct NamedShape {
  const char* name;
  Shape shape;
};
const NamedShape kShapes[] = {{"nothing", Nothing},
                              {"chain1", Chain(1)},
                              {"chain2", Chain(2)},
                              {"chain3", Chain(3)},
                              {"chain4", Chain(4)},
                              {"siblings2", Siblings(2)},
                              {"siblings4", Siblings(4)},
                              {"siblings8", Siblings(8)},
                              {"two_by_two", TwoByTwo},
                              {"certain_chain", CertainChain},
                              {"certain_then_drawn", CertainThenDrawn},
                              {"drawn_then_certain", DrawnThenCertain},
                              {"mixed_chain", MixedChain},
                              {"merged", Merged},
                              {"stops_early", StopsEarly},
                              {"grows_where_likely", GrowsWhereLikely}};

class RatioShapes : public testing::TestWithParam<NamedShape> {};

TEST_P(RatioShapes, SamplesTheTargetsDistribution) {
  for (const AcceptanceRule rule : {AcceptanceRule::kRatio, AcceptanceRule::kBlock}) {
    for (const float temperature : {0.5f, 1.0f}) {
      EXPECT_LT(SigmasOf({AtTemperature(temperature), GetParam().shape, Real(rule)}), kSigmas)
          << "rule " << static_cast<int>(rule) << " at " << temperature;
    }
  }
}

TEST_P(RatioShapes, UnderTruncationsAndPenalties) {
  SamplingParams top_p = AtTemperature(1), top_k = AtTemperature(1), penalised = AtTemperature(1);
  top_p.top_p = 0.8f;
  top_k.top_k = 3;
  top_k.min_p = 0.1f;
  penalised.frequency_penalty = 1.5f;  // each row has the penalties of its own prefix
  for (const SamplingParams& params : {top_p, top_k, penalised}) {
    EXPECT_LT(SigmasOf({params, GetParam().shape, Real(AcceptanceRule::kRatio), 6000}), kSigmas);
    EXPECT_LT(SigmasOf({params, GetParam().shape, Real(AcceptanceRule::kBlock), 6000}), kSigmas);
  }
}

TEST_P(RatioShapes, AtTemperatureZeroTheTextIsThatOfCoupled) {
  for (const AcceptanceRule rule : {AcceptanceRule::kRatio, AcceptanceRule::kBlock}) {
    const std::vector<double> pairs =
        RunTrial({AtTemperature(0), GetParam().shape, Real(rule), 20}).pairs;
    EXPECT_EQ(*std::max_element(pairs.begin(), pairs.end()), 20);
    EXPECT_EQ(pairs, RunTrial({AtTemperature(0), Nothing, Real(rule), 20}).pairs);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, RatioShapes, testing::ValuesIn(kShapes),
                         [](const auto& info) { return std::string(info.param.name); });

// The chi-square must see what is wrong, or it proves nothing.
constexpr double kHuge = 15;  // p < 1e-50

// min(1, p / q) as it should be, and then a draw from p instead of the residual.
void WithoutResidual(const DraftTree& tree, const LogitsRows& rows,
                     std::span<const TokenId> committed, Sampler& sampler, RatioNoise& noise,
                     Verdict& verdict) {
  verdict.tokens.clear();
  verdict.path.clear();
  Ids prefix(committed.begin(), committed.end());
  for (int32_t node = 0;; ++node) {
    std::vector<float> p;
    sampler.Law(prefix, rows.row(node), p);
    if (node < tree.size()) {
      const size_t token = static_cast<size_t>(tree.tokens[node]);
      const float q = tree.law_rows[static_cast<size_t>(tree.laws[node]) * kVocab + token];
      if (noise.Uniform() < static_cast<double>(p[token] / q)) {
        verdict.tokens.push_back({tree.tokens[node]});
        verdict.path.push_back(node);
        prefix.push_back(tree.tokens[node]);
        continue;
      }
    }
    double left = noise.Uniform();
    TokenId token = 0;
    while (token < kVocab - 1 && (left -= static_cast<double>(p[static_cast<size_t>(token)])) >= 0)
      ++token;
    verdict.tokens.push_back({token});
    return;
  }
}

TEST(BrokenRatioTest, ADrawFromTheTargetInsteadOfTheResidualIsCaught) {
  EXPECT_GT(SigmasOf({AtTemperature(1), Chain(1), WithoutResidual}), kHuge);
  EXPECT_GT(SigmasOf({AtTemperature(1), Chain(3), WithoutResidual}), kHuge);
}

TEST(BrokenRatioTest, NoiseSharedWithTheDraftIsCaught) {
  for (const AcceptanceRule rule : {AcceptanceRule::kRatio, AcceptanceRule::kBlock}) {
    for (const Shape& shape : {Chain(1), Chain(3)}) {
      Trial trial = {AtTemperature(1), shape, Real(rule)};
      trial.draft_stream = RatioNoise::kVerify;
      EXPECT_GT(SigmasOf(trial), kHuge);
    }
  }
}

TEST(BrokenRatioTest, AGreedyGuessThatPretendsToBeDrawnIsCaught) {
  const Shape shape = [](Grower& grow) {
    const TokenId best = grow.tree.tokens[static_cast<size_t>(grow.Guess(-1))];
    grow.tree.tokens.clear();
    grow.tree.parents.clear();
    grow.tree.probabilities.clear();
    grow.tree.sources.clear();
    grow.tree.laws.clear();
    grow.Draw(-1, 1);
    grow.tree.tokens[0] = best;
  };
  EXPECT_GT(SigmasOf({AtTemperature(1), shape, Real(AcceptanceRule::kRatio)}), kHuge);
}

// What the header forbids: a node that is left out for its own probability.
TEST(BrokenRatioTest, PruningByANodesOwnProbabilityIsCaught) {
  const Shape shape = [](Grower& grow) {
    grow.Draw(-1, 1);
    if (grow.tree.probabilities[0] < 0.25f) {
      grow.Begin(Ids{3, 5});  // empties the tree
    }
  };
  EXPECT_GT(SigmasOf({AtTemperature(1), shape, Real(AcceptanceRule::kRatio)}), kHuge);
}

// How many guesses of a chain are accepted on average, exactly. ratio: each position accepts with
// 1 - TV; block: reach = min(1, reach p / q).
double ExpectedAccepted(Sampler& sampler, const Ids& prefix, int length, AcceptanceRule rule,
                        double reach = 1) {
  if (length == 0) return 0;
  std::vector<float> p, q;
  sampler.Law(prefix, LogitsAfter(prefix, kTarget), p);
  sampler.Law(prefix, LogitsAfter(prefix, kDrafter), q);
  double expected = 0;
  for (size_t token = 0; token < kVocab; ++token) {
    if (q[token] == 0) continue;
    const double drawn = static_cast<double>(q[token]);
    const double ratio = static_cast<double>(p[token]) / drawn;
    Ids longer = prefix;
    longer.push_back(static_cast<TokenId>(token));
    const double next = rule == AcceptanceRule::kBlock ? std::min(1.0, reach * ratio)
                                                       : reach * std::min(1.0, ratio);
    expected += drawn * (next + ExpectedAccepted(sampler, longer, length - 1, rule, next));
  }
  return expected;
}

double MeanAccepted(const Outcome& outcome) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < outcome.accepted.size(); ++i) {
    sum += static_cast<double>(i) * outcome.accepted[i];
    count += outcome.accepted[i];
  }
  return sum / count;
}

TEST(RatioAcceptanceTest, ChainsAreAcceptedAsOftenAsTheTheorySays) {
  for (const float temperature : {0.5f, 1.0f}) {
    const SamplingParams params = AtTemperature(temperature);
    Sampler sampler(params, kVocab, kPrompt, {});
    for (const int length : {1, 2, 4}) {
      double by_rule[2];
      for (const AcceptanceRule rule : {AcceptanceRule::kRatio, AcceptanceRule::kBlock}) {
        const double expected = ExpectedAccepted(sampler, {3, 5}, length, rule);
        // A count of at most `length` has a variance of at most length^2 / 4.
        EXPECT_NEAR(MeanAccepted(RunTrial({params, Chain(length), Real(rule)})), expected,
                    4.3 * length / 2 / std::sqrt(12000.0));
        by_rule[rule == AcceptanceRule::kBlock] = expected;
      }
      EXPECT_NEAR(by_rule[0], by_rule[1], length == 1 ? 1e-12 : 1);
      EXPECT_GE(by_rule[1], by_rule[0] * (length == 1 ? 1 - 1e-12 : 1.003));
    }
  }
}

TEST(RatioAcceptanceTest, OneGuessIsAcceptedWithOneMinusTheTotalVariation) {
  const SamplingParams params = AtTemperature(1);
  Sampler sampler(params, kVocab, kPrompt, {});
  const Ids prefix = {3, 5};
  std::vector<float> p, q;
  sampler.Law(prefix, LogitsAfter(prefix, kTarget), p);
  sampler.Law(prefix, LogitsAfter(prefix, kDrafter), q);
  double common = 0;
  for (size_t token = 0; token < kVocab; ++token) {
    common += static_cast<double>(std::min(p[token], q[token]));
  }
  EXPECT_GT(common, 0.5);
  EXPECT_LT(common, 0.9);
  EXPECT_NEAR(ExpectedAccepted(sampler, prefix, 1, AcceptanceRule::kRatio), common, 1e-6);
  const Outcome one = RunTrial({params, Chain(1), Real(AcceptanceRule::kRatio)});
  EXPECT_NEAR(MeanAccepted(one), common, 4.3 * 0.5 / std::sqrt(12000.0));
  // More draws without replacement are accepted more often, all of them always.
  const Outcome two = RunTrial({params, Siblings(2), Real(AcceptanceRule::kRatio)});
  EXPECT_GT(MeanAccepted(two), common + 0.05);
  EXPECT_EQ(MeanAccepted(RunTrial({params, Siblings(8), Real(AcceptanceRule::kRatio)})), 1);
}

TEST(RatioAcceptanceTest, ATargetThatDraftsForItselfIsAlwaysAccepted) {
  SamplingParams top_p = AtTemperature(0.7f), penalised = AtTemperature(1.3f);
  top_p.top_p = 0.9f;
  penalised.repetition_penalty = 1.2f;
  penalised.presence_penalty = 0.5f;
  for (const AcceptanceRule rule : {AcceptanceRule::kRatio, AcceptanceRule::kBlock}) {
    for (const SamplingParams& params : {AtTemperature(1), top_p, penalised}) {
      EXPECT_EQ(RunTrial({params, Chain(4, kTarget), Real(rule), 2000}).accepted[4], 2000);
    }
  }
}

// One verdict on hand-made input.
Verdict AcceptOnce(AcceptanceRule rule, const DraftTree& tree, const std::vector<float>& rows,
                   float temperature = 1) {
  Sampler sampler(AtTemperature(temperature), kVocab, kPrompt, {});
  RatioNoise noise(1, 0, RatioNoise::kVerify);
  RatioAcceptor acceptor;
  Verdict verdict;
  verdict.tokens.resize(3);  // what an earlier step left there
  verdict.path = {0, 1};
  verdict.prefix = {5};
  acceptor.Accept(rule, tree, {rows.data(), kVocab, kVocab}, Ids{3, 5}, sampler, noise, verdict);
  return verdict;
}

TEST(AcceptRatioTest, GuessesThatCannotHaveBeenDrawnArePassedOver) {
  std::vector<float> rows;
  for (int row = 0; row < 6; ++row) {
    for (TokenId token = 0; token < kVocab; ++token) rows.push_back(token == 2 ? 50.0f : 0.0f);
  }
  for (const AcceptanceRule rule : {AcceptanceRule::kRatio, AcceptanceRule::kBlock}) {
    for (int lie = 0; lie < 5; ++lie) {
      DraftTree tree;
      tree.law_width = kVocab;
      tree.law_rows.assign(kVocab, 0.125f);
      int32_t law = 0;
      TokenId token = 2;
      if (lie == 0) law = 7;                                                    // no such row
      if (lie == 1) law = -5;                                                   // nor this
      if (lie == 2) tree.law_rows[2] = 0;                                       // not possible
      if (lie == 3) tree.law_rows[3] = std::numeric_limits<float>::infinity();  // no law
      if (lie == 4) token = kVocab;                                             // no token
      tree.Add(token, -1, 0.5f, law);
      tree.Add(2, 0, 0.5f);
      const Verdict verdict = AcceptOnce(rule, tree, rows);
      ASSERT_EQ(verdict.tokens.size(), 1u) << "lie " << lie;
      EXPECT_EQ(verdict.tokens[0].token, 2);
      EXPECT_TRUE(verdict.path.empty());
    }
    // The truth is accepted.
    DraftTree tree;
    tree.law_width = kVocab;
    tree.law_rows.assign(kVocab, 0.125f);
    tree.Add(2, tree.Add(2, -1, 0.5f, 0), 0.5f);
    EXPECT_EQ(AcceptOnce(rule, tree, rows).path, (std::vector<int32_t>{0, 1}));
  }
}

TEST(AcceptRatioTest, ALawMayBeNarrowerOrWiderThanTheVocabulary) {
  // A drafter with other ids: what it cannot say has probability 0, what the target lacks is never
  // in the tree.
  for (const int width : {5, 12}) {
    std::vector<double> counts(kVocab), law;
    std::vector<float> p;
    const std::vector<float> row = LogitsAfter(Ids{3, 5}, kTarget);
    Sampler sampler(AtTemperature(1), kVocab, kPrompt, {});
    sampler.Law(Ids{3, 5}, row, p);
    law.assign(p.begin(), p.end());
    std::vector<float> rows = row;
    rows.insert(rows.end(), row.begin(), row.end());
    RatioAcceptor acceptor;
    Verdict verdict;
    for (uint64_t seed = 0; seed < 20000; ++seed) {
      RatioNoise verify(seed, 0, RatioNoise::kVerify), draft(seed, 0, 1);
      DraftTree tree;
      tree.law_width = width;
      tree.law_rows.assign(static_cast<size_t>(width), 1.0f / static_cast<float>(width));
      const TokenId token = static_cast<TokenId>(draft.Uniform() * width);
      if (token < kVocab) tree.Add(token, -1, 0.5f, 0);
      acceptor.Accept(AcceptanceRule::kRatio, tree, {rows.data(), kVocab, kVocab}, Ids{3, 5},
                      sampler, verify, verdict);
      ++counts[static_cast<size_t>(verdict.tokens[0].token)];
    }
    EXPECT_LT(ChiSquareOf(counts, law).Sigmas(), kSigmas) << "width " << width;
  }
}

TEST(AcceptRatioTest, AGuessThatTheTargetCannotMakeIsNeverAccepted) {
  std::vector<float> rows;
  for (int row = 0; row < 3; ++row) {
    for (TokenId token = 0; token < kVocab; ++token) {
      rows.push_back(token == 4 ? -std::numeric_limits<float>::infinity() : 0.0f);
    }
  }
  for (const AcceptanceRule rule : {AcceptanceRule::kRatio, AcceptanceRule::kBlock}) {
    const Verdict verdict = AcceptOnce(rule, ChainOf(Ids{4, 1}), rows);
    EXPECT_TRUE(verdict.path.empty());
    EXPECT_NE(verdict.tokens[0].token, 4);
  }
}

TEST(AcceptRatioTest, ReportsLogprobsOfTheTargetsRow) {
  SamplingParams params = AtTemperature(1);
  params.logprobs = 1;
  Sampler sampler(params, kVocab, kPrompt, {});
  std::vector<float> rows(2 * kVocab, 0.0f);
  rows[2] = 50;
  RatioNoise noise(1, 0, RatioNoise::kVerify);
  RatioAcceptor acceptor;
  Verdict verdict;
  acceptor.Accept(AcceptanceRule::kRatio, ChainOf(Ids{2}), {rows.data(), kVocab, kVocab}, Ids{3, 5},
                  sampler, noise, verdict);
  ASSERT_EQ(verdict.tokens.size(), 2u);
  EXPECT_NEAR(verdict.tokens[0].logprob, 0, 1e-6);
  EXPECT_EQ(verdict.tokens[0].top.at(0).token, 2);
  EXPECT_NEAR(verdict.tokens[1].logprob, -std::log(8.0f), 1e-6);
}

}  // namespace
}  // namespace hunch
