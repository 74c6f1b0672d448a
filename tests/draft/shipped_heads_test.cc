#include "draft/shipped_heads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/files.h"
#include "support/heads.h"
#include "support/model_runner.h"

namespace hunch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ShippedHeads : public testing::Test {
 protected:
  std::string Write(std::string_view name, HeadKind kind, uint64_t fingerprint = 77) {
    HeadConfig config = SmallHead(model_, 288, kind);
    config.target.vocabulary.fingerprint = fingerprint;
    const std::vector<std::byte> bytes = HeadBytes(config, RandomValues(4));
    return folder_.Write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  // And what it says on the way.
  std::optional<std::string> Find(std::optional<HeadKind> kind = std::nullopt) {
    return FindIn(folder_.path(), kind);
  }
  std::optional<std::string> FindIn(const std::string& folder,
                                    std::optional<HeadKind> kind = std::nullopt) {
    testing::internal::CaptureStderr();
    auto found = FindShippedHead(folder, SmallHead(model_, 288).target, kind);
    said_ = testing::internal::GetCapturedStderr();
    return found;
  }

  const ModelConfig model_ =
      ReadModelConfig(*GgufFile::Open(TinyModelPath("llama")).value()).value();
  TempDir folder_;
  std::string said_;
};

TEST_F(ShippedHeads, TheOneThatFitsIsFoundAmongOthers) {
  Write("a.gguf", HeadKind::kEagle3, 78);
  EXPECT_EQ(Find(), std::nullopt);
  const std::string own = Write("b.gguf", HeadKind::kEagle3);
  Write("c.gguf", HeadKind::kEagle3);
  folder_.Write("README.md", "text");
  EXPECT_EQ(Find(), own) << "of one kind the first by name";
  EXPECT_EQ(said_, "");
}

TEST_F(ShippedHeads, Eagle3GoesBeforeEagleAndThatBeforeMedusa) {
  const std::string medusa = Write("a.gguf", HeadKind::kMedusa);
  EXPECT_EQ(Find(), medusa);
  const std::string eagle = Write("b.gguf", HeadKind::kEagle);
  EXPECT_EQ(Find(), eagle);
  const std::string eagle3 = Write("c.gguf", HeadKind::kEagle3);
  EXPECT_EQ(Find(), eagle3);
  EXPECT_EQ(Find(HeadKind::kEagle3), eagle3);
  EXPECT_EQ(Find(HeadKind::kEagle), eagle);
  EXPECT_EQ(Find(HeadKind::kMedusa), medusa);
  std::filesystem::remove(eagle);
  EXPECT_EQ(Find(HeadKind::kEagle), std::nullopt);
}

TEST_F(ShippedHeads, WhatIsBrokenIsNamedAndTheOthersCount) {
  const std::string broken = folder_.Write("a.gguf", "GGUF");
  const std::string own = Write("c.gguf", HeadKind::kEagle);
  const std::string model = folder_.Write("b.gguf", ReadFile(TinyModelPath("llama")));
  std::filesystem::create_directory(folder_.Path("d.gguf"));
  EXPECT_EQ(Find(), own);
  EXPECT_THAT(said_, AllOf(HasSubstr(broken + ": "), HasSubstr(model + ": "), HasSubstr("no head"),
                           HasSubstr(folder_.Path("d.gguf") + ": "), Not(HasSubstr(own))));
}

TEST_F(ShippedHeads, AFolderThatIsNotThereIsNamed) {
  EXPECT_EQ(FindIn(""), std::nullopt);
  EXPECT_EQ(said_, "");
  EXPECT_EQ(FindIn(folder_.Path("absent")), std::nullopt);
  EXPECT_THAT(said_, HasSubstr(folder_.Path("absent") + ": "));
}

}  // namespace
}  // namespace hunch
