// What corpora become: which files are read, and what is written when.
#include "session/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "draft/ngram_table.h"
#include "model/token_list.h"
#include "support/files.h"
#include "support/model_runner.h"
#include "weights/gguf.h"

namespace hunch {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class CorpusTest : public testing::Test {
 protected:
  // As `hunch ngram build` and `hunch vocab count`.
  Result<CorpusCount> Build(bool table, const std::vector<std::string>& files) {
    const OnCorpus on_corpus = [&](int64_t, int64_t) {
      ++reads_;
      return true;
    };
    return table ? BuildNgramFile(model_, files, out_, on_corpus)
                 : WriteFrequentTokens(model_, files, 5, out_, on_corpus);
  }

  TempDir dir_;
  const std::string model_ = TinyModelPath("llama");
  std::string out_ = dir_.Path("out");
  int reads_ = 0;  // reports of progress
};

TEST_F(CorpusTest, BothFilesAreReadByTheirReaders) {
  const std::string text = dir_.Write("text", "a b a b a b\n");
  ASSERT_TRUE(Build(false, {text}).ok());
  const auto file = GgufFile::Open(model_).value();
  const auto tokenizer = Tokenizer::Create(*file).value();
  const auto list = ParseTokenList(ReadFile(out_), out_, tokenizer->vocab_size());
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->size(), 5u);
  const auto count = Build(true, {text, text});
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count->bytes, 24);
  EXPECT_TRUE(NgramTable::Open(out_, VocabularyIdOf(*tokenizer)).ok());
}

TEST_F(CorpusTest, WhatCannotBeWrittenIsSaidBeforeReading) {
  const std::string text = dir_.Write("text", "a b a b a b\n");
  out_ = dir_.Path("no folder/out");
  for (const bool table : {false, true}) {
    EXPECT_THAT(Build(table, {text}).error().message,
                EndsWith("no folder/out: cannot write this file: No such file or directory"));
  }
  EXPECT_EQ(reads_, 0);
}

TEST_F(CorpusTest, WhatIsNoFileIsNotRead) {
  const std::string fifo = dir_.Path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {fifo, dir_.path()}) {
    EXPECT_THAT(Build(true, {path}).error().message, HasSubstr("not a regular file")) << path;
  }
  EXPECT_FALSE(std::filesystem::exists(out_));
}

}  // namespace
}  // namespace hunch
