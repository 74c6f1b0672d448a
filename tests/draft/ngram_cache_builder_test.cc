// Tests of n-gram tables: what is built against naive counts, the bounds, and files that are not
// what they should be.
#include "draft/ngram_cache_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/files.h"

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;
constexpr VocabularyId kVocabulary = {0xFEEDFACECAFEBEEF, 5000};

std::vector<Ids> RandomStreams(uint32_t seed, int streams, int length, int alphabet) {
  std::mt19937 random(seed);
  std::vector<Ids> all(static_cast<size_t>(streams));
  for (Ids& stream : all) {
    stream.resize(random() % static_cast<uint32_t>(length));
    for (TokenId& token : stream) {
      token = static_cast<TokenId>(std::min(random() % alphabet, random() % alphabet));
    }
  }
  return all;
}

using Counts = std::map<Ids, std::map<TokenId, uint32_t>>;

Counts NaiveCounts(const std::vector<Ids>& streams) {
  Counts counts;
  for (const Ids& stream : streams) {
    for (size_t end = 0; end < stream.size(); ++end) {
      for (size_t n = 2; n <= 4 && n <= end; ++n) {
        const auto at = stream.begin() + static_cast<ptrdiff_t>(end);
        ++counts[Ids(at - static_cast<ptrdiff_t>(n), at)][stream[end]];
      }
    }
  }
  return counts;
}

uint32_t Total(const std::map<TokenId, uint32_t>& followers) {
  uint32_t total = 0;
  for (const auto& [token, count] : followers) total += count;
  return total;
}

void ExpectEntry(const NgramTable::Entry& entry, const std::map<TokenId, uint32_t>& followers) {
  std::vector<std::pair<TokenId, uint32_t>> best(followers.begin(), followers.end());
  std::stable_sort(best.begin(), best.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (best.size() > 4) best.resize(4);
  ASSERT_EQ(entry.followed, static_cast<int>(Total(followers)));
  ASSERT_EQ(entry.size, static_cast<int>(best.size()));
  for (int i = 0; i < entry.size; ++i) {
    EXPECT_EQ(entry.branches[i].token, best[static_cast<size_t>(i)].first);
    EXPECT_EQ(entry.branches[i].count, best[static_cast<size_t>(i)].second);
  }
}

std::shared_ptr<const NgramTable> Build(const std::vector<Ids>& streams, const std::string& path,
                                        const NgramCacheOptions& options = {}) {
  const Status built = BuildNgramCache(streams, path, kVocabulary, options);
  EXPECT_TRUE(built.ok()) << built.error().message;
  auto table = NgramTable::Open(path, kVocabulary);
  EXPECT_TRUE(table.ok()) << table.error().message;
  return *table;
}

TEST(NgramCacheBuilderTest, HoldsTheCountsOfTheStreams) {
  const TempDir folder;
  for (const int alphabet : {1, 2, 5, 30, 4000}) {
    const std::vector<Ids> streams = RandomStreams(7, 12, 200, alphabet);
    const auto table = Build(streams, folder.Path("t.ngc"));
    const Counts counts = NaiveCounts(streams);
    EXPECT_EQ(table->contexts(), counts.size());
    for (const auto& [context, followers] : counts) {
      ASSERT_NO_FATAL_FAILURE(ExpectEntry(table->Find(context), followers));
    }
    for (const Ids& other : {Ids{4999, 4998}, Ids{-1, -1, -1}, Ids{1}, Ids{}, Ids(9, 1),
                             Ids{std::numeric_limits<TokenId>::min(), 0}}) {
      EXPECT_EQ(table->Find(other).followed, 0);
    }
  }
}

TEST(NgramCacheBuilderTest, TheSameStreamsGiveTheSameBytes) {
  const TempDir folder;
  const std::vector<Ids> streams = RandomStreams(8, 10, 300, 20);
  Build(streams, folder.Path("a.ngc"));
  Build(streams, folder.Path("b.ngc"));
  EXPECT_EQ(ReadFile(folder.Path("a.ngc")), ReadFile(folder.Path("b.ngc")));
}

TEST(NgramCacheBuilderTest, AnEmptyCorpusIsAnEmptyTable) {
  const TempDir folder;
  const auto table = Build({}, folder.Path("t.ngc"));
  EXPECT_EQ(table->contexts(), 0u);
  EXPECT_EQ(table->Find(Ids{1, 2}).followed, 0);
}

TEST(NgramCacheBuilderTest, TheRarestAreLeftOutOfASmallFile) {
  const TempDir folder;
  const std::vector<Ids> streams = RandomStreams(9, 20, 400, 12);
  const Counts counts = NaiveCounts(streams);
  uint64_t last = counts.size() + 1;
  for (const size_t bytes : {40000, 20000, 5000, 1000, 100}) {
    const auto table = Build(streams, folder.Path("t.ngc"), {.max_file_bytes = bytes});
    EXPECT_LE(ReadFile(folder.Path("t.ngc")).size(), bytes);
    EXPECT_LT(table->contexts(), last);
    last = table->contexts();
    int kept_least = std::numeric_limits<int>::max(), dropped_most = 0;
    for (const auto& [context, followers] : counts) {
      const NgramTable::Entry entry = table->Find(context);
      if (entry.followed > 0) {
        ExpectEntry(entry, followers);
        kept_least = std::min(kept_least, entry.followed);
      } else {
        dropped_most = std::max(dropped_most, static_cast<int>(Total(followers)));
      }
    }
    EXPECT_LT(dropped_most, kept_least);
  }
  EXPECT_FALSE(
      BuildNgramCache(streams, folder.Path("t.ngc"), kVocabulary, {.max_file_bytes = 50}).ok());
}

// Far more different n-grams than it may hold: what is frequent survives, with about its count.
TEST(NgramCacheBuilderTest, FrequentContextsSurviveABoundedMemory) {
  const TempDir folder;
  std::mt19937 random(10);
  NgramCacheBuilder builder({.max_entries = 2000});
  const int times = 500;
  for (int i = 0; i < times; ++i) {
    Ids stream = {1, 2, 3, 4, 5, 6};
    for (int k = 0; k < 40; ++k) stream.push_back(static_cast<TokenId>(10 + random() % 4000));
    builder.Add(stream);
  }
  ASSERT_TRUE(builder.Write(folder.Path("t.ngc"), kVocabulary).ok());
  const auto table = NgramTable::Open(folder.Path("t.ngc"), kVocabulary);
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_LE((*table)->contexts(), 2000u);
  for (const Ids& context : {Ids{1, 2}, Ids{1, 2, 3}, Ids{2, 3, 4, 5}}) {
    const NgramTable::Entry entry = (*table)->Find(context);
    ASSERT_GT(entry.size, 0);
    EXPECT_EQ(entry.branches[0].token, context.back() + 1);
    EXPECT_GT(entry.branches[0].count, static_cast<uint32_t>(times / 2));
    EXPECT_LE(entry.branches[0].count, static_cast<uint32_t>(times));
  }
}

TEST(NgramCacheBuilderTest, RefusesTokensOutsideTheVocabulary) {
  const TempDir folder;
  for (const TokenId bad : {-1, 5000, std::numeric_limits<TokenId>::min()}) {
    const Status status =
        BuildNgramCache(std::vector<Ids>{{1, 2, bad}}, folder.Path("t.ngc"), kVocabulary);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find(std::to_string(bad)), std::string::npos);
  }
  EXPECT_FALSE(BuildNgramCache({}, folder.Path("no/folder.ngc"), kVocabulary).ok());
}

TEST(NgramTableTest, RefusesWhatIsNotItsFile) {
  const TempDir folder;
  const std::string path = folder.Path("t.ngc");
  Build({{1, 2, 3, 4}}, path);
  EXPECT_FALSE(NgramTable::Open(path, {kVocabulary.fingerprint ^ 1, 5000}).ok());
  EXPECT_FALSE(NgramTable::Open(path, {kVocabulary.fingerprint, 4}).ok());
  EXPECT_FALSE(NgramTable::Open(folder.Path("none.ngc"), kVocabulary).ok());
  const std::string whole = ReadFile(path);
  const auto opens = [](const std::string& bytes) {
    auto file = TableFile::Parse(std::as_bytes(std::span(bytes)), "changed", NgramTable::kKind,
                                 kVocabulary);
    return file.ok() && NgramTable::Parse(std::move(*file), kVocabulary).ok();
  };
  ASSERT_TRUE(opens(whole));
  EXPECT_FALSE(opens(whole + '\0'));
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(opens(whole.substr(0, size)));
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(opens(flipped)) << bit;
  }
  std::string newer = whole;
  newer[8] = 2;  // the version, under a checksum
  EXPECT_FALSE(opens(newer));
}

// A frame and checksums that are right around contents that are not.
class HostileTableTest : public testing::Test {
 protected:
  struct Payload {
    std::vector<NgramTable::Slot> slots = {{NgramTable::Hash(Ids{1, 2}), 0, 5u << 3 | 2}, {}};
    std::vector<NgramTable::Branch> branches = {{3, 3}, {4, 2}};
    uint64_t slot_count = 2, contexts = 1, branch_count = 2;
  };
  static std::string Try(const Payload& payload) {
    std::vector<std::byte> bytes;
    const auto add = [&](const auto& value) {
      const auto raw = std::as_bytes(std::span(&value, 1));
      bytes.insert(bytes.end(), raw.begin(), raw.end());
    };
    add(payload.slot_count);
    add(payload.contexts);
    add(payload.branch_count);
    for (const auto& slot : payload.slots) add(slot);
    for (const auto& branch : payload.branches) add(branch);
    const auto table = NgramTable::Parse(TableFile::OfPayload(bytes, "t"), {0, 100});
    return table.ok() ? "" : table.error().message;
  }
};

TEST_F(HostileTableTest, EveryCountAndOffsetIsChecked) {
  EXPECT_EQ(Try({}), "");
  Payload bad;
  bad.slot_count = 0;  // no free slot: looking would never end
  EXPECT_NE(Try(bad), "");
  for (const uint64_t count :
       {uint64_t{1}, uint64_t{3}, uint64_t{1} << 32, uint64_t{1} << 60, ~uint64_t{0}}) {
    bad = {};
    bad.slot_count = count;
    EXPECT_NE(Try(bad), "") << count;
    bad = {};
    bad.branch_count = count;
    EXPECT_NE(Try(bad), "") << count;
    bad = {};
    bad.contexts = count == 1 ? 0 : count;
    EXPECT_NE(Try(bad), "") << count;
  }
  bad = {};
  bad.slots[1] = bad.slots[0];  // full
  EXPECT_NE(Try(bad), "");
  bad.contexts = 2;
  EXPECT_NE(Try(bad), "");
  for (const uint32_t first : {1u, 2u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
    bad = {};
    bad.slots[0].first = first;
    EXPECT_NE(Try(bad), "") << first;
  }
  for (const uint32_t sizes : {0u, 5u << 3, 5u << 3 | 3, 5u << 3 | 7, 4u << 3 | 2}) {
    bad = {};
    bad.slots[0].followed_size = sizes;
    EXPECT_NE(Try(bad), "") << sizes;
  }
  for (const TokenId token : {-1, 100, 3, std::numeric_limits<TokenId>::max()}) {
    bad = {};
    bad.branches[1].token = token;
    EXPECT_NE(Try(bad), "") << token;
  }
  for (const uint32_t count : {0u, 4u, 0xFFFFFFFFu}) {
    bad = {};
    bad.branches[1].count = count;
    EXPECT_NE(Try(bad), "") << count;
  }
}

}  // namespace
}  // namespace hunch
