// Fuzz target: any bytes as a file of a drafter. The first byte says which (bit 0: a suffix store,
// else an n-gram table) and whether the rest is a whole file or, bit 1, what a sound frame holds.
// Nothing may crash, hang or bring a token id that is not of the vocabulary.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/check.h"
#include "draft/ngram_table.h"
#include "draft/suffix_store.h"

namespace {

using hunch::NgramTable;
using hunch::SuffixStore;
using hunch::TableFile;
using hunch::TokenId;

constexpr hunch::VocabularyId kVocabulary = {0x48756E6368, 256};

void LookUp(const NgramTable& table, std::span<const std::byte> bytes) {
  std::array<TokenId, NgramTable::kLongest> context = {};
  for (const std::byte byte : bytes) {
    for (size_t i = 0; i + 1 < context.size(); ++i) context[i] = context[i + 1];
    context.back() = static_cast<TokenId>(byte);
    for (size_t n = 1; n <= context.size(); ++n) {
      const NgramTable::Entry entry = table.Find(std::span(context).last(n));
      HUNCH_CHECK(entry.size >= 0 && entry.size <= NgramTable::kBranches);
      for (int i = 0; i < entry.size; ++i) {
        HUNCH_CHECK(entry.branches[i].token >= 0 && entry.branches[i].token < kVocabulary.size);
        HUNCH_CHECK_LE(entry.branches[i].count, static_cast<uint32_t>(entry.followed));
      }
    }
  }
}

void Check(const SuffixStore& store) {
  HUNCH_CHECK_LE(store.tokens(), store.max_tokens());
  for (const auto& branch : store.index().branches(hunch::SuffixIndex::kRoot)) {
    HUNCH_CHECK(branch.token >= 0 && branch.token < kVocabulary.size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const bool store = (data[0] & 1) != 0, payload = (data[0] & 2) != 0;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data + 1, size - 1));
  auto file = payload
                  ? TableFile::OfPayload(bytes, "fuzz")
                  : TableFile::Parse(bytes, "fuzz", store ? SuffixStore::kKind : NgramTable::kKind,
                                     kVocabulary);
  if (!file.ok()) {
    HUNCH_CHECK(!file.error().message.empty());
    return 0;
  }
  if (store) {
    const auto parsed = SuffixStore::Parse(*file, kVocabulary, 64);
    if (parsed.ok()) Check(**parsed);
  } else {
    const auto parsed = NgramTable::Parse(std::move(*file), kVocabulary);
    if (parsed.ok()) LookUp(**parsed, bytes);
  }
  return 0;
}
