#include "grammar/grammars.h"

#include <fmt/format.h>
#include <xgrammar/compiler.h>

#include <algorithm>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "grammar/limits.h"
#include "grammar/to_rules.h"
#include "grammar/xgrammar_constraint.h"

namespace hunch {
namespace {

constexpr size_t kMostKept = 128;  // grammars
constexpr size_t kMostKeptBytes = size_t{256} << 20;
constexpr int64_t kMostRuleCacheBytes = 64 << 20;  // of what grammars have in common

class XgrammarGrammar : public CompiledGrammar {
 public:
  XgrammarGrammar(xgrammar::CompiledGrammar grammar, std::shared_ptr<const std::vector<bool>> takes)
      : grammar_(std::move(grammar)), takes_(std::move(takes)) {}

  std::unique_ptr<TokenConstraint> Start() const override {
    return std::make_unique<XgrammarConstraint>(grammar_, takes_);
  }
  size_t bytes() const { return grammar_.MemorySizeBytes(); }

 private:
  xgrammar::CompiledGrammar grammar_;
  std::shared_ptr<const std::vector<bool>> takes_;
};

}  // namespace

struct Grammars::State {
  struct Kept {
    StructuredOutput wanted;
    std::shared_ptr<const CompiledGrammar> grammar;
    size_t bytes;
  };

  std::shared_ptr<const CompiledGrammar> Find(const StructuredOutput& wanted);
  void Keep(const StructuredOutput& wanted, std::shared_ptr<const XgrammarGrammar> grammar);
  void PrepareCompiler();
  Result<std::shared_ptr<const XgrammarGrammar>> Compile(const StructuredOutput& wanted);

  GrammarVocabulary vocabulary;

  std::mutex keeping;    // guards what follows
  std::list<Kept> kept;  // last used first
  size_t kept_bytes = 0;

  std::mutex compiling;  // guards what follows
  std::optional<xgrammar::GrammarCompiler> compiler;
  std::shared_ptr<const std::vector<bool>> takes;  // [vocabulary]
};

std::shared_ptr<const CompiledGrammar> Grammars::State::Find(const StructuredOutput& wanted) {
  const std::lock_guard lock(keeping);
  for (auto it = kept.begin(); it != kept.end(); ++it) {
    if (!(it->wanted == wanted)) continue;
    kept.splice(kept.begin(), kept, it);
    return it->grammar;
  }
  return nullptr;
}

void Grammars::State::Keep(const StructuredOutput& wanted,
                           std::shared_ptr<const XgrammarGrammar> grammar) {
  const size_t bytes = grammar->bytes() + wanted.text.size();
  const std::lock_guard lock(keeping);
  kept.push_front({wanted, std::move(grammar), bytes});
  kept_bytes += bytes;
  while (kept.size() > 1 && (kept.size() > kMostKept || kept_bytes > kMostKeptBytes)) {
    kept_bytes -= kept.back().bytes;
    kept.pop_back();
  }
}

// The vocabulary in the library's form costs time and memory, so it is made when it is first
// needed.
void Grammars::State::PrepareCompiler() {
  if (compiler) return;
  std::vector<std::string> tokens;
  std::vector<bool> is_text(static_cast<size_t>(vocabulary.size));
  for (TokenId token = 0; token < vocabulary.size; ++token) {
    tokens.emplace_back(vocabulary.bytes(token));
    is_text[static_cast<size_t>(token)] = !tokens.back().empty();
  }
  for (const TokenId token : vocabulary.end_tokens) {
    tokens[static_cast<size_t>(token)].clear();
    is_text[static_cast<size_t>(token)] = true;
  }
  takes = std::make_shared<const std::vector<bool>>(std::move(is_text));
  const xgrammar::TokenizerInfo info(tokens, xgrammar::VocabType::RAW, vocabulary.size,
                                     vocabulary.end_tokens);
  // On this thread alone: the library cannot report an error of another. Masks are made when they
  // are first needed.
  compiler.emplace(info, /*max_threads=*/1, /*cache_enabled=*/true, kMostRuleCacheBytes,
                   /*enable_dynamic_compilation=*/true);
}

Result<std::shared_ptr<const XgrammarGrammar>> Grammars::State::Compile(
    const StructuredOutput& wanted) {
  const auto wrong = [&](std::string_view reason) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} {}", WhatItIs(wanted.kind), reason)};
  };
  try {
    PrepareCompiler();
    const xgrammar::Grammar rules = ToRules(wanted);
    if (const size_t bytes = rules.ToString().size(); bytes > kMostRuleBytes) {
      return wrong(
          fmt::format("unfolds to {} bytes of rules: at most {} are taken", bytes, kMostRuleBytes));
    }
    auto grammar = std::make_shared<const XgrammarGrammar>(compiler->CompileGrammar(rules), takes);
    std::vector<uint32_t> mask(MaskWords(vocabulary.size));
    if (grammar->Start()->Fill(mask) == TokenConstraint::Allowed::kNothing) {
      return wrong("allows no answer, or none that can be found in time");
    }
    return grammar;
  } catch (const std::exception& error) {
    return wrong(fmt::format("cannot be used: {}", ReasonIn(error.what())));
  }
}

bool Obeys(const CompiledGrammar& grammar, std::span<const TokenId> text) {
  const auto constraint = grammar.Start();
  const auto takes = [&](TokenId token) { return constraint->Advance(token); };
  return std::all_of(text.begin(), text.end(), takes) && constraint->Complete();
}

Grammars::Grammars(GrammarVocabulary vocabulary) : state_(std::make_unique<State>()) {
  state_->vocabulary = std::move(vocabulary);
}

Grammars::~Grammars() = default;

Result<std::shared_ptr<const CompiledGrammar>> Grammars::Compile(const StructuredOutput& wanted) {
  if (auto grammar = state_->Find(wanted)) return grammar;
  HUNCH_RETURN_IF_ERROR(CheckLimits(wanted));
  const std::lock_guard lock(state_->compiling);
  // Another thread may have been as far.
  if (auto grammar = state_->Find(wanted)) return grammar;
  HUNCH_ASSIGN_OR_RETURN(std::shared_ptr<const XgrammarGrammar> grammar, state_->Compile(wanted));
  state_->Keep(wanted, grammar);
  return std::shared_ptr<const CompiledGrammar>(std::move(grammar));
}

}  // namespace hunch
