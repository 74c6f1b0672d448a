#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <new>

#include "apps/commands.h"
#include "support/app_harness.h"
#include "support/files.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The rule for every error: this exit code, nothing on out, one line on err.
void ExpectOneLine(AppHarness& app, const std::vector<std::string>& arguments, int code,
                   const std::string& message) {
  EXPECT_EQ(app.Run(arguments), code) << message;
  EXPECT_EQ(app.out(), "");
  const std::string err = app.err();
  EXPECT_THAT(err, StartsWith(message));
  EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
  EXPECT_TRUE(err.ends_with('\n')) << err;
}

TEST(Program, HelpAndVersion) {
  AppHarness app;
  for (const char* flag : {"--help", "-h", "help"}) {
    EXPECT_EQ(app.Run({flag}), kExitOk);
    EXPECT_EQ(app.out(), ProgramHelp());
    EXPECT_EQ(app.err(), "");
  }
  EXPECT_EQ(app.Run({"--version"}), kExitOk);
  EXPECT_EQ(app.out(), "hunch " + std::string(kVersion) + "\n");
  EXPECT_EQ(app.Run({"bench", "--help"}), kExitOk);
  EXPECT_EQ(app.out(), SubcommandHelp(Subcommand::kBench));
}

TEST(Program, VersionIsTheBuildFiles) {
  const std::string text = ReadFile(GoldenPath("../../CMakeLists.txt"));
  EXPECT_THAT(text, HasSubstr("project(hunch VERSION " + std::string(kVersion) + " "));
}

TEST(Program, WhatTheCallerGotWrongIsOneLineAndExit2) {
  AppHarness app;
  ExpectOneLine(app, {}, 2, "hunch: no subcommand; see hunch --help");
  ExpectOneLine(app, {"fly"}, 2, "hunch: unknown subcommand 'fly'");
  ExpectOneLine(app, {"--fly"}, 2, "hunch: unknown flag '--fly'");
  ExpectOneLine(app, {"ngram", "--help"}, 2,
                "hunch: unknown subcommand 'ngram'; there is 'ngram build'; see hunch --help");
  ExpectOneLine(app, {"two\nlines"}, 2, "hunch: unknown subcommand 'two lines'");
  ExpectOneLine(app, {"run"}, 2, "hunch run: no model");
  ExpectOneLine(app, {"run", "--model", "m", "--top\n-p", "1"}, 2, "hunch run: unknown flag");
  ExpectOneLine(app, {"bench", "--model", "m"}, 2, "hunch bench: no prompts");
  ExpectOneLine(app, {"run", "--model", "m", "--speculative-config", "{\n"}, 2,
                "hunch run: --speculative-config: bad JSON");
  ExpectOneLine(app,
                {"demo", "--model", "m", "--speculative-config", R"({"method":"draft_model"})"}, 2,
                "hunch demo: --speculative-config: method draft_model needs \"model\"");
  // Bytes of no character, and characters that a terminal would obey.
  ExpectOneLine(app, {"r\xff\n\x1b[31m"}, kExitUsage, "hunch: unknown subcommand 'r\uFFFD  [31m'");
}

TEST(Program, ExitCodesFollowTheKindOfError) {
  const struct {
    ErrorCode code;
    int exit;
  } cases[] = {{ErrorCode::kInvalidArgument, 2},   {ErrorCode::kNotFound, 2},
               {ErrorCode::kBadFile, 2},           {ErrorCode::kUnsupported, 2},
               {ErrorCode::kResourceExhausted, 1}, {ErrorCode::kIo, 1},
               {ErrorCode::kInternal, 1}};
  AppHarness app;
  for (const auto& c : cases) {
    app.load_error = Error{c.code, "m: no\nsuch thing"};
    ExpectOneLine(app, {"run", "--model", "m", "hi"}, c.exit, "hunch run: m: no such thing");
    ExpectOneLine(app, {"tokenize", "--model", "m", "hi"}, c.exit, "hunch tokenize: m: no such");
    ExpectOneLine(app, {"demo", "--model", "m"}, c.exit, "hunch demo: m: no such thing");
    app.inspect_report = *app.load_error;
    ExpectOneLine(app, {"inspect", "m"}, c.exit, "hunch inspect: m: no such thing");
  }
}

TEST(Program, WritesNothingOverWhatItReads) {
  const TempDir dir;
  const std::string model = dir.Path("m.gguf"), link = dir.Path("link.gguf");
  dir.Write("m.gguf", "a model");
  std::filesystem::create_symlink(model, link);
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"train", "--model", model, "-o", model},
           {"train", "--model", model, "-o", link},
           {"convert-head", model, "--model", "other.gguf", "-o", model},
           {"vocab", "count", "--model", "other.gguf", model, "-o", link},
           {"bench", "rows", "--model", model, "--json", model}}) {
    AppHarness app;
    EXPECT_EQ(app.Run(arguments), kExitUsage) << arguments[0];
    EXPECT_THAT(app.err(), HasSubstr("is to be written, but it is read as")) << arguments[0];
    EXPECT_EQ(ReadFile(model), "a model");
  }
}

TEST(Program, OutOfMemoryIsOneLineAndExit1) {
  AppHarness app;
  app.script.before_token = [](size_t) { throw std::bad_alloc(); };
  ExpectOneLine(app, {"run", "--model", "m", "hi"}, 1, "hunch run: out of memory\n");
}

TEST(Program, TrainingIsAProgramOfItsOwn) {
  AppHarness app;
  ExpectOneLine(app, {"train", "--model", "m"}, 2, "hunch train: nowhere to write to; give -o");
  ExpectOneLine(app, {"train", "--model", "m", "-o", "h", "--kind", "owl"}, 2,
                "hunch train: --kind: unknown kind 'owl': use eagle3, eagle, medusa or draft");
  ExpectOneLine(app, {"train", "--model", "m", "-o", "h", "--quantization", "q2_k"}, 2,
                "hunch train: --quantization: unknown type 'q2_k'");
  ExpectOneLine(app, {"train", "--model", "m", "-o", "h"}, 2, "hunch train: this program cannot");
}

}  // namespace
}  // namespace hunch
