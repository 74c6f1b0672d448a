// Tests of zip archives as torch writes them: what is stored is found, and nothing else is taken.
#include "convert/stored_zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/published.h"

namespace hunch {
namespace {

using testing::HasSubstr;

std::string TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string MessageOf(const std::string& file) {
  const auto read = ParseStoredZip(ToBytes(file), "z");
  return read.ok() ? "it was read" : read.error().message;
}

RawZip TwoEntries() { return {.entries = {{"a/b", "first"}, {"c", ""}}}; }

TEST(StoredZip, GivesEachEntrysBytes) {
  for (const bool wide : {false, true}) {
    RawZip zip = TwoEntries();
    zip.wide = wide;
    const std::vector<std::byte> file = ToBytes(zip.Build());
    EXPECT_TRUE(BeginsAsZip(file));
    const auto entries = ParseStoredZip(file, "z");
    ASSERT_TRUE(entries.ok()) << entries.error().message;
    ASSERT_EQ(entries->size(), 2u);
    EXPECT_EQ(TextOf(entries->at("a/b")), "first");
    EXPECT_EQ(TextOf(entries->at("c")), "");
  }
  EXPECT_FALSE(BeginsAsZip(ToBytes("PK\3")));
  EXPECT_FALSE(BeginsAsZip(ToBytes("GGUF....")));
}

TEST(StoredZip, RefusesWhatTorchDoesNotWrite) {
  RawZip zip = TwoEntries();
  zip.entries[0].method = 8;
  EXPECT_THAT(MessageOf(zip.Build()), HasSubstr("z: entry a/b is compressed or encrypted"));
  zip = TwoEntries();
  zip.entries[0].flags = 1;
  EXPECT_THAT(MessageOf(zip.Build()), HasSubstr("compressed or encrypted"));
  zip = TwoEntries();
  zip.entries[0].stored = 4;
  EXPECT_THAT(MessageOf(zip.Build()), HasSubstr("compressed or encrypted"));
  zip = TwoEntries();
  zip.entries[1].name = "a/b";
  EXPECT_THAT(MessageOf(zip.Build()), HasSubstr("entry a/b is there twice"));
  zip = TwoEntries();
  zip.comment = "hello";
  EXPECT_THAT(MessageOf(zip.Build()), HasSubstr("no zip directory at its end"));
}

TEST(StoredZip, EveryCutIsRefused) {
  for (const bool wide : {false, true}) {
    RawZip zip = TwoEntries();
    zip.wide = wide;
    const std::string file = zip.Build();
    for (size_t size = 0; size < file.size(); ++size) {
      EXPECT_NE(MessageOf(file.substr(0, size)), "it was read") << size;
    }
  }
}

// Whatever is read lies in the file.
TEST(StoredZip, EveryFlippedBitIsSurvived) {
  for (const bool wide : {false, true}) {
    RawZip zip = TwoEntries();
    zip.wide = wide;
    const std::string file = zip.Build();
    for (size_t bit = 0; bit < file.size() * 8; ++bit) {
      std::vector<std::byte> damaged = ToBytes(file);
      damaged[bit / 8] ^= std::byte(1 << bit % 8);
      const auto entries = ParseStoredZip(damaged, "z");
      if (!entries.ok()) continue;
      for (const auto& [name, data] : *entries) {
        EXPECT_GE(data.data(), damaged.data());
        EXPECT_LE(data.data() + data.size(), damaged.data() + damaged.size());
      }
    }
  }
}

}  // namespace
}  // namespace hunch
