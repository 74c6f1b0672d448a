// hunch serve as a program: what it loads, what it says, how it ends. What it answers is tested in
// tests/server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "support/app_harness.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(Serve, SaysWhereItListensAndEndsWithASignal) {
  AppHarness app;
  int code = -1;
  std::thread program([&] {
    code = app.Run({"serve", "--model", "models/m.gguf", "--port", "0", "--max-num-seqs", "3",
                    "--max-model-len", "64", "--kv-cache-dtype", "q8_0"});
  });
  while (!app.interrupts.armed) std::this_thread::yield();
  app.interrupts.pending = SIGTERM;
  program.join();
  EXPECT_EQ(code, kExitOk);
  EXPECT_THAT(app.err(), MatchesRegex("hunch serve: listening on http://127.0.0.1:[0-9]+ \\(m, 3 "
                                      "sequences of 1000 tokens\\)\n"));
  EXPECT_EQ(app.out(), "");
  ASSERT_EQ(app.loads.size(), 1u);
  EXPECT_EQ(app.loads[0].max_num_seqs, 3);
  EXPECT_EQ(app.loads[0].max_num_batched_tokens, 256);
  EXPECT_EQ(app.loads[0].max_model_len, 64);
  EXPECT_TRUE(app.loads[0].enable_prefix_caching);
  EXPECT_EQ(app.loads[0].kv_cache_dtype, KvType::kQ8_0);
}

TEST(Serve, LearnsOnlyWithAHeadAndAProgramThatTrains) {
  AppHarness app;
  EXPECT_EQ(app.Run({"serve", "--model", "m.gguf", "--learn", "folder", "--speculative-config",
                     R"({"method": "ngram"})"}),
            kExitUsage);
  EXPECT_THAT(app.err(), HasSubstr("--learn needs a head that guesses"));
  EXPECT_EQ(app.Run({"serve", "--model", "m.gguf", "--learn", "folder", "--speculative-config",
                     R"({"method": "eagle3", "model": "head.gguf"})"}),
            kExitUsage);
  EXPECT_THAT(app.err(), HasSubstr("--learn needs hunch-train: build it with make train"));
  EXPECT_TRUE(app.loads.empty());
}

TEST(Serve, AnAddressThatCannotBeHadIsAFailure) {
  AppHarness app;
  EXPECT_EQ(app.Run({"serve", "--model", "m.gguf", "--host", "no.such.host.invalid"}),
            kExitFailure);
  EXPECT_THAT(app.err(), HasSubstr("hunch serve: cannot resolve no.such.host.invalid:8000"));
}

TEST(Serve, AModelThatCannotBeLoadedIsAnError) {
  AppHarness app;
  app.load_error = Error{ErrorCode::kNotFound, "m.gguf: no such file"};
  EXPECT_EQ(app.Run({"serve", "--model", "m.gguf"}), kExitUsage);
  EXPECT_EQ(app.err(), "hunch serve: m.gguf: no such file\n");
}

}  // namespace
}  // namespace hunch
