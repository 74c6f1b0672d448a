#include "apps/batch_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <vector>

#include "apps/batch_line.h"
#include "support/files.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;

class BatchOutputTest : public ::testing::Test {
 protected:
  BatchOutputTest() {
    input_ = BatchInput::Open(folder_.Write("in", "a\nb\nc\n")).value();
    BatchLine line;
    while (input_->Next(line).value()) ids_.push_back(line.id);
  }
  // The answer to the input's line `index`.
  std::string Line(size_t index) const {
    return AnsweredLine(ids_[index], "x", {.body = R"({"system_fingerprint": "fp"})"});
  }
  Result<std::unique_ptr<BatchOutput>> Open(const std::string& fingerprint = "fp") const {
    return BatchOutput::Open(path_, *input_, fingerprint);
  }
  // The error with which the file is refused, which must leave it as it is.
  Error Refused(const std::string& contents) const {
    folder_.Write("out", contents);
    const auto output = Open();
    EXPECT_FALSE(output.ok()) << contents;
    EXPECT_EQ(ReadFile(path_), contents);
    return output.ok() ? Error{} : output.error();
  }

  TempDir folder_;
  const std::string path_ = folder_.Path("out");
  std::unique_ptr<BatchInput> input_;
  std::vector<uint64_t> ids_;
};

TEST_F(BatchOutputTest, KnowsWhatIsDone) {
  {
    const auto output = Open().value();
    EXPECT_EQ(output->done(), 0);
    EXPECT_TRUE(output->Append(Line(0) + Line(2)).ok());
  }
  EXPECT_EQ(ReadFile(path_), Line(0) + Line(2));
  const auto output = Open().value();
  EXPECT_EQ(output->done(), 2);
  EXPECT_TRUE(output->Done(ids_[0]));
  EXPECT_FALSE(output->Done(ids_[1]));
  EXPECT_TRUE(output->Done(ids_[2]));
  EXPECT_FALSE(output->cut());
  EXPECT_TRUE(output->Append(Line(1)).ok());
  EXPECT_EQ(ReadFile(path_), Line(0) + Line(2) + Line(1));
}

TEST_F(BatchOutputTest, CutsATornLineWhereverItIsTorn) {
  const std::string torn = Line(1);
  for (size_t length = 1; length < torn.size(); ++length) {
    folder_.Write("out", Line(0) + torn.substr(0, length));
    const auto output = Open();
    ASSERT_TRUE(output.ok()) << output.error().message;
    EXPECT_TRUE((*output)->cut());
    EXPECT_EQ((*output)->done(), 1);
    ASSERT_EQ(ReadFile(path_), Line(0));
    ASSERT_TRUE((*output)->Append(torn).ok());
    ASSERT_EQ(ReadFile(path_), Line(0) + torn);
  }
}

TEST_F(BatchOutputTest, LeavesAloneWhatIsNotItsOwn) {
  EXPECT_THAT(Refused("my notes").message, HasSubstr("out:1: was not written by hunch batch"));
  EXPECT_THAT(Refused("my notes\n").message, HasSubstr("out:1: answers no line of"));
  EXPECT_THAT(Refused(Line(0) + "{\"custom_id\"").message, HasSubstr("out:2: was not written"));
  const std::string other = AnsweredLine(1, "x", {.body = "{}"});
  EXPECT_THAT(Refused(Line(0) + other + Line(1)).message,
              HasSubstr("out:2: answers no line of " + input_->path()));
  const std::string from = AnsweredLine(ids_[0], "x", {.body = R"({"system_fingerprint": "no"})"});
  EXPECT_THAT(Refused(from).message,
              HasSubstr("out:1: comes from another model (no, and this is fp)"));
  const auto device = BatchOutput::Open("/dev/null", *input_, "fp");
  ASSERT_FALSE(device.ok());
  EXPECT_THAT(device.error().message, HasSubstr("is no regular file"));
  const auto nowhere = BatchOutput::Open(folder_.Path("no/such"), *input_, "fp");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().code, ErrorCode::kIo);
}

TEST_F(BatchOutputTest, OneProcessAtATimeHasIt) {
  {
    const auto first = Open().value();
    const auto second = Open();
    ASSERT_FALSE(second.ok());
    EXPECT_THAT(second.error().message, HasSubstr("another hunch batch is writing it"));
  }
  EXPECT_TRUE(Open().ok());
}

// A limit on the size of files stands for a full disk: a write that takes a part, and then none.
TEST_F(BatchOutputTest, AFullDiskIsAnErrorAndLeavesWholeLines) {
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const auto output = Open().value();
  ASSERT_TRUE(output->Append(Line(0)).ok());
  struct rlimit small = before;
  small.rlim_cur = Line(0).size() + Line(1).size() / 2;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status full = output->Append(Line(1));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ErrorCode::kIo);
  EXPECT_THAT(full.error().message, HasSubstr("cannot write " + path_ + ": File too large"));
  EXPECT_EQ(ReadFile(path_), Line(0));
  EXPECT_TRUE(output->Append(Line(1)).ok());
  EXPECT_EQ(ReadFile(path_), Line(0) + Line(1));
}

}  // namespace
}  // namespace hunch
