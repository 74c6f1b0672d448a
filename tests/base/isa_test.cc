// HUNCH_ISA: every supported instruction set can be forced, anything else is refused by name.
#include "base/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

namespace hunch {
namespace {

// Sets HUNCH_ISA for a test and puts back what the caller had.
class ForcedIsa {
 public:
  explicit ForcedIsa(const char* value) {
    if (const char* old = std::getenv("HUNCH_ISA")) old_ = old;
    setenv("HUNCH_ISA", value, 1);
  }
  ~ForcedIsa() {
    if (old_) {
      setenv("HUNCH_ISA", old_->c_str(), 1);
    } else {
      unsetenv("HUNCH_ISA");
    }
  }

 private:
  std::optional<std::string> old_;
};

TEST(IsaTest, ReferenceIsAlwaysThereAndTheDefaultIsTheBestThatRanOnARealCpu) {
  ASSERT_FALSE(SupportedIsas().empty());
  EXPECT_EQ(SupportedIsas().front(), Isa::kRef);
  const ForcedIsa none("");
  EXPECT_EQ(ChooseIsa().value(), DefaultIsa());
  EXPECT_NE(DefaultIsa(), Isa::kNeon);
  if (SupportedIsas().back() != Isa::kNeon) {
    EXPECT_EQ(DefaultIsa(), SupportedIsas().back());
  }
}

TEST(IsaTest, EverySupportedOneCanBeForced) {
  for (Isa isa : SupportedIsas()) {
    const ForcedIsa forced(std::string(IsaName(isa)).c_str());
    EXPECT_EQ(ChooseIsa().value(), isa);
  }
}

TEST(IsaTest, UnsupportedIsRefusedByName) {
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512, Isa::kNeon}) {
    const auto& supported = SupportedIsas();
    if (std::find(supported.begin(), supported.end(), isa) != supported.end()) continue;
    const std::string name(IsaName(isa));
    const ForcedIsa forced(name.c_str());
    const Result<Isa> chosen = ChooseIsa();
    ASSERT_FALSE(chosen.ok());
    EXPECT_EQ(chosen.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(chosen.error().message.find(name), std::string::npos);
    EXPECT_NE(chosen.error().message.find(IsaName(supported.back())), std::string::npos);
  }
}

TEST(IsaTest, UnknownIsRefusedByName) {
  const ForcedIsa forced("sse9");
  const Result<Isa> chosen = ChooseIsa();
  ASSERT_FALSE(chosen.ok());
  EXPECT_EQ(chosen.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(chosen.error().message.find("sse9"), std::string::npos);
}

TEST(IsaTest, TheForcedOneIsTheActiveOne) {
  // ActiveIsa() is decided once per process: this asserts on what the process was started with.
  const char* forced = std::getenv("HUNCH_ISA");
  if (forced == nullptr || *forced == '\0') {
    EXPECT_EQ(ActiveIsa(), DefaultIsa());
  } else {
    EXPECT_EQ(IsaName(ActiveIsa()), forced);
  }
}

}  // namespace
}  // namespace hunch
