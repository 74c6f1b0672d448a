// SharedStores: whose texts a request gets, and which files are written.
#include "session/shared_stores.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/files.h"

namespace hunch {
namespace {

class SharedStoresTest : public testing::Test {
 protected:
  SharedStoresTest() { stores_.SetVocabulary(kVocabulary); }
  // How many outputs the store of a file holds for whoever opens it anew.
  static size_t Kept(const std::string& path) {
    SharedStores stores;
    stores.SetVocabulary(kVocabulary);
    return stores.ForFile("", path).value()->suffix->requests();
  }
  static constexpr VocabularyId kVocabulary = {0x1234567890ABCDEF, 1000};
  const std::vector<TokenId> output_ = {1, 2, 3};
  TempDir dir_;
  SharedStores stores_;
};

TEST_F(SharedStoresTest, WhatWasLearnedComesBackFromTheFile) {
  const std::string path = dir_.Path("store");
  stores_.ForFile("", path).value()->suffix->Add(output_);
  ASSERT_TRUE(stores_.Save("", path).ok());
  EXPECT_EQ(Kept(path), 1u);
}

// As after a request of the method none, which makes no drafters and so asks for no store.
TEST_F(SharedStoresTest, AFileThatNoRequestReadIsNotWritten) {
  const std::string thesis = dir_.Write("thesis", "mine");
  EXPECT_TRUE(stores_.Save("", thesis).ok());
  EXPECT_EQ(ReadFile(thesis), "mine");
  EXPECT_TRUE(stores_.Save("", dir_.Path("none")).ok());
  EXPECT_FALSE(std::filesystem::exists(dir_.Path("none")));

  const std::string path = dir_.Path("store");
  stores_.ForFile("", path).value()->suffix->Add(output_);
  ASSERT_TRUE(stores_.Save("", path).ok());
  SharedStores later;
  later.SetVocabulary(kVocabulary);
  EXPECT_TRUE(later.Save("", path).ok());
  EXPECT_EQ(Kept(path), 1u);
  later.ForFile("", path).value()->suffix->Add(output_);
  ASSERT_TRUE(later.Save("", path).ok());
  EXPECT_EQ(Kept(path), 2u);
}

TEST_F(SharedStoresTest, AFolderThatIsNotThereIsFoundOutBeforeAnAnswer) {
  EXPECT_FALSE(stores_.ForFile("", dir_.Path("no folder/store")).ok());
  EXPECT_TRUE(stores_.ForFile("", dir_.Path("store")).ok());
  EXPECT_TRUE(stores_.ForFile("", "a file of the current folder").ok());
}

TEST_F(SharedStoresTest, NoSaltLeadsToTheStoreOfAFileOrOfAnotherSalt) {
  const std::string path = dir_.Path("store");
  const auto kept = stores_.ForFile("salt", path).value()->suffix;
  for (const std::string& salt : {path + "\nsalt", path + "salt", std::string("salt"), path}) {
    EXPECT_NE(stores_.For(salt).suffix, kept) << salt;
  }
  EXPECT_EQ(stores_.ForFile("salt", path).value()->suffix, kept);
  EXPECT_NE(stores_.ForFile("other", path).value()->suffix, kept);
  EXPECT_EQ(stores_.For("a").suffix, stores_.For("a").suffix);
}

}  // namespace
}  // namespace hunch
