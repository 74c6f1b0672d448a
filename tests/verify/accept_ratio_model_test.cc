// The rule `ratio` on a real vocabulary: SmolLM2's rows, judged against what the same model says
// with half of the context. Chi-square over the likely tokens (the others are one cell), fixed
// seeds, p > 1e-5; and a broken rule that it catches.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/chi_square.h"
#include "support/model_runner.h"
#include "support/models.h"
#include "verify/accept_ratio.h"

namespace hunch {
namespace {

constexpr int kRuns = 1500;

TEST(AcceptRatioModelTest, SamplesTheTargetsDistribution) {
  HUNCH_REQUIRE_MODEL(path, "smollm2");
  ModelRunner runner(path);
  const int vocab = runner.model().config().vocab;
  std::vector<TokenId> prefix;
  for (int i = 0; i < 12; ++i) prefix.push_back(1000 + 37 * i);
  const LogitsRow target = runner.ReadAll(prefix, 64).back();
  const LogitsRow drafter = runner.ReadAll(std::span(prefix).last(6), 64).back();
  SamplingParams params;
  params.temperature = 1;
  for (const float top_p : {1.0f, 0.9f}) {
    params.top_p = top_p;
    Sampler sampler(params, vocab, 0, {});
    std::vector<float> p, q, rows;
    sampler.Law(prefix, target, p);
    sampler.Law(prefix, drafter, q);
    double common = 0;
    for (int token = 0; token < vocab; ++token) {
      common += static_cast<double>(std::min(p[token], q[token]));
    }
    ASSERT_GT(common, 0.05);
    ASSERT_LT(common, 0.9);
    for (int row = 0; row < 3; ++row) rows.insert(rows.end(), target.begin(), target.end());
    for (const bool broken : {false, true}) {
      std::vector<double> counts(vocab);
      RatioAcceptor acceptor;
      Verdict verdict;
      std::vector<Candidate> drawn;
      for (uint64_t seed = 0; seed < kRuns; ++seed) {
        RatioNoise verify(seed, 0, RatioNoise::kVerify);
        RatioNoise draft(seed, 0, RatioNoise::kFirstDrafter);
        DraftTree tree;
        tree.law_width = vocab;
        tree.law_rows = q;
        sampler.Draw(prefix, drafter, 2, draft, drawn);
        for (const Candidate& guess : drawn) tree.Add(guess.token, -1, guess.probability, 0);
        acceptor.Accept(AcceptanceRule::kRatio, tree, {rows.data(), vocab, vocab}, prefix, sampler,
                        verify, verdict);
        TokenId token = verdict.tokens[0].token;
        if (broken && verdict.path.empty()) {  // drawn from p instead of the residual
          sampler.Draw(prefix, target, 1, verify, drawn);
          token = drawn[0].token;
        }
        ++counts[token];
      }
      const double sigmas = ChiSquareOf(counts, {p.begin(), p.end()}).Sigmas();
      if (broken) {
        EXPECT_GT(sigmas, 8) << "top_p " << top_p;
      } else {
        EXPECT_LT(sigmas, 4.265) << "top_p " << top_p;
      }
    }
  }
}

}  // namespace
}  // namespace hunch
