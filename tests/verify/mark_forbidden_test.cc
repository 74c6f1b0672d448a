#include "verify/mark_forbidden.h"

#include <gtest/gtest.h>

#include <random>

#include "support/fake_constraint.h"
#include "verify/trim_tree.h"

namespace hunch {
namespace {

constexpr int kVocab = 90;
constexpr TokenId kGone = ForbiddenMarker::kForbidden;

// A token may be at most three more than the one before it; the first token any.
bool Climbing(const std::vector<TokenId>& output, TokenId token) {
  return output.empty() || (token > output.back() && token <= output.back() + 3);
}

ConstraintCursor Cursor(ConstraintRule rule) {
  return ConstraintCursor(std::make_unique<FakeConstraint>(kVocab, std::move(rule)), kVocab, 1);
}

const std::vector<TokenId> kCommitted = {80, 10};

TEST(MarkForbidden, WhatIsForbiddenGoesWithAllBelow) {
  DraftTree tree;
  tree.Add(11, -1, 0.5f);
  tree.Add(20, -1, 0.5f);  // forbidden
  tree.Add(12, 0, 0.5f);
  tree.Add(21, 1, 0.5f);  // below it, though it may follow 20
  tree.Add(40, 2, 0.5f);  // forbidden
  tree.Add(13, -1, 0.5f);
  tree.Add(14, 0, 0.5f);
  ConstraintCursor cursor = Cursor(Climbing);
  ForbiddenMarker marker;
  EXPECT_TRUE(marker.Mark(kCommitted, cursor, tree));
  EXPECT_EQ(tree.tokens, (std::vector<TokenId>{11, kGone, 12, kGone, kGone, 13, 14}));
  TreeTrimmer().Trim(64, 64, kVocab, tree);
  EXPECT_EQ(tree.tokens, (std::vector<TokenId>{11, 12, 13, 14}));
  EXPECT_EQ(tree.parents, (std::vector<int32_t>{-1, 0, -1, 0}));
  EXPECT_FALSE(marker.Mark(kCommitted, cursor, tree));
  EXPECT_TRUE(cursor.Push(13)) << "the cursor is where the committed tokens end";
}

// Whether a drawn guess is verified must not depend on the guess itself.
TEST(MarkForbidden, ADrawnGuessStaysAndWhatHangsBelowGoes) {
  DraftTree tree;
  tree.law_width = kVocab;
  tree.law_rows.assign(kVocab, 1.0f / kVocab);
  tree.Add(20, -1, 0.5f, 0);  // forbidden
  tree.Add(21, 0, 0.5f, 0);
  tree.Add(11, -1, 0.5f, 0);
  tree.Add(50, 2, 0.5f);  // forbidden, and not drawn
  ConstraintCursor cursor = Cursor(Climbing);
  EXPECT_TRUE(ForbiddenMarker().Mark(kCommitted, cursor, tree));
  EXPECT_EQ(tree.tokens, (std::vector<TokenId>{20, kGone, 11, kGone}));
}

TEST(MarkForbidden, AfterAForbiddenPrefixNothingIsLeft) {
  DraftTree tree;
  tree.Add(11, -1, 0.5f);
  tree.Add(12, 0, 0.5f);
  ConstraintCursor cursor = Cursor(Climbing);
  EXPECT_TRUE(ForbiddenMarker().Mark(std::vector<TokenId>{80, 10, 10}, cursor, tree));
  EXPECT_EQ(tree.tokens, (std::vector<TokenId>{kGone, kGone}));
}

TEST(MarkForbidden, RandomTreesKeepExactlyTheAllowedPaths) {
  std::mt19937 random(7);
  ForbiddenMarker marker;
  ConstraintCursor cursor = Cursor(HashRule);
  int kept = 0, gone = 0;
  for (int round = 0; round < 300; ++round) {
    DraftTree tree;
    for (int node = 0; node < 24; ++node) {
      const int parent = static_cast<int>(random() % static_cast<unsigned>(node + 1)) - 1;
      const auto token = static_cast<TokenId>(random() % kVocab);
      if (tree.FindChild(parent, token) < 0) {
        tree.Add(token, parent, 0.5f);
      } else {
        --node;
      }
    }
    const std::vector<TokenId> committed = {80};
    DraftTree marked = tree;
    marker.Mark(committed, cursor, marked);
    for (int node = 0; node < tree.size(); ++node) {
      std::vector<TokenId> path;
      for (int at = node; at >= 0; at = tree.parents[at])
        path.insert(path.begin(), tree.tokens[at]);
      std::vector<TokenId> output;
      bool allowed = true;
      for (const TokenId token : path) {
        allowed = allowed && HashRule(output, token);
        output.push_back(token);
      }
      ASSERT_EQ(marked.tokens[node], allowed ? tree.tokens[node] : kGone) << round << ' ' << node;
      (allowed ? kept : gone) += 1;
    }
  }
  EXPECT_GT(kept, 1000);
  EXPECT_GT(gone, 1000);
}

}  // namespace
}  // namespace hunch
