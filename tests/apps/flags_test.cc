#include "apps/flags.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace hunch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Result<Flags> Parse(Subcommand subcommand, std::vector<std::string> arguments) {
  return ParseFlags(subcommand, arguments);
}

// Parses `arguments` of `run` after a model; fails the test if they are refused.
Flags ParseRun(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--model", "m.gguf"});
  Result<Flags> flags = ParseFlags(Subcommand::kRun, arguments);
  EXPECT_TRUE(flags.ok()) << flags.error().message;
  return flags.ok() ? *flags : Flags{};
}

std::string RunError(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--model", "m.gguf"});
  Result<Flags> flags = ParseFlags(Subcommand::kRun, arguments);
  EXPECT_FALSE(flags.ok());
  if (flags.ok()) return "";
  EXPECT_EQ(flags.error().code, ErrorCode::kInvalidArgument);
  return flags.error().message;
}

TEST(FlagTable, NamesAreUniqueAndExplained) {
  std::map<std::string_view, unsigned> taken;  // name -> subcommands that have it
  for (const FlagSpec& spec : FlagTable()) {
    EXPECT_TRUE(spec.name.starts_with("--")) << spec.name;
    for (const std::string_view name : {spec.name, spec.short_name}) {
      if (name.empty()) continue;
      EXPECT_EQ(taken[name] & spec.subcommands, 0u) << name;
      taken[name] |= spec.subcommands;
    }
    EXPECT_FALSE(spec.help.empty()) << spec.name;
    EXPECT_NE(spec.subcommands, 0u) << spec.name;
  }
}

TEST(FlagTable, EveryGeneratingSubcommandTakesEverySamplingFlag) {
  for (const char* name : {"--model",
                           "--speculative-config",
                           "--max-model-len",
                           "--max-tokens",
                           "--min-tokens",
                           "--temperature",
                           "--top-p",
                           "--top-k",
                           "--min-p",
                           "--typical-p",
                           "--repetition-penalty",
                           "--presence-penalty",
                           "--frequency-penalty",
                           "--logit-bias",
                           "--seed",
                           "--stop",
                           "--stop-token-ids",
                           "--ignore-eos",
                           "--threads",
                           "--kv-cache-dtype"}) {
    for (const Subcommand subcommand : {Subcommand::kRun, Subcommand::kBench, Subcommand::kDemo}) {
      EXPECT_THAT(SubcommandHelp(subcommand), HasSubstr(fmt::format("\n  {}", name)));
    }
  }
}

// Everything a flag with a numeric default can set.
std::string Numbers(const Flags& f) {
  const SamplingParams& s = f.sampling;
  const TrainFlags& t = f.train;
  const std::string training = fmt::format(
      "{} {} {} {} {} {} {} {} {} {}", t.kind ? HeadKindName(*t.kind) : "draft", t.requests,
      t.texts.most_answer_tokens, t.texts.temperature, t.texts.seed, t.options.steps, t.head_tokens,
      t.options.epochs, GetTypeTraits(t.options.type).name, t.features_gb);
  return fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} "
      "{} {}",
      training, f.batched_tokens, f.audit_rate, f.watchdog_seconds, f.host, f.port, f.served_seqs,
      f.max_queued, f.repeats, fmt::join(f.rows, ","), fmt::join(f.contexts, ","),
      fmt::join(f.prompt_lengths, ","), f.threads, f.max_model_len, f.max_num_seqs,
      KvCacheDtypeName(f.kv_cache_dtype), f.per_category, f.rounds, s.min_tokens, s.temperature,
      s.top_p, s.top_k, s.min_p, s.typical_p, s.repetition_penalty, s.presence_penalty,
      s.frequency_penalty, s.seed, s.logprobs);
}

TEST(FlagTable, DefaultsInTheHelpAreTheDefaults) {
  int checked = 0;
  for (const FlagSpec& spec : FlagTable()) {
    if (spec.default_text.empty() || spec.name == "--speculative-config") continue;
    Flags flags;
    const std::string_view value = spec.default_text.substr(0, spec.default_text.find(':'));
    ASSERT_TRUE(spec.set(flags, value).ok()) << spec.name;
    EXPECT_EQ(Numbers(flags), Numbers(Flags{})) << spec.name;
    ++checked;
  }
  EXPECT_GE(checked, 15);
}

TEST(Flags, ServeTakesWhereAndForWhom) {
  const auto flags = Parse(Subcommand::kServe, {"--model",
                                                "m.gguf",
                                                "--host",
                                                "0.0.0.0",
                                                "--port",
                                                "0",
                                                "--api-key",
                                                "k",
                                                "--served-model-name",
                                                "a",
                                                "--served-model-name",
                                                "b",
                                                "--allowed-origins",
                                                "http://localhost:3000,https://a.example",
                                                "--max-num-seqs",
                                                "3",
                                                "--max-queue-len",
                                                "0",
                                                "--max-num-batched-tokens",
                                                "16",
                                                "--audit-rate",
                                                "0.5",
                                                "--watchdog-seconds",
                                                "7",
                                                "--no-enable-prefix-caching",
                                                "--max-model-len",
                                                "64",
                                                "--kv-cache-dtype",
                                                "q8_0",
                                                "--threads",
                                                "1",
                                                "--speculative-config",
                                                R"({"method": "ngram"})"});
  ASSERT_TRUE(flags.ok()) << flags.error().message;
  EXPECT_EQ(flags->host, "0.0.0.0");
  EXPECT_EQ(flags->port, 0);
  EXPECT_EQ(flags->api_key, "k");
  EXPECT_THAT(flags->model_names, ElementsAre("a", "b"));
  EXPECT_THAT(flags->allowed_origins, ElementsAre("http://localhost:3000", "https://a.example"));
  const auto listed =
      Parse(Subcommand::kServe, {"--model", "m.gguf", "--allowed-origins", R"(["*", "http://b"])"});
  EXPECT_THAT(listed->allowed_origins, ElementsAre("*", "http://b"));
  EXPECT_EQ(flags->served_seqs, 3);
  EXPECT_EQ(flags->max_queued, 0);
  EXPECT_EQ(flags->batched_tokens, 16);
  EXPECT_EQ(flags->audit_rate, 0.5f);
  EXPECT_EQ(flags->watchdog_seconds, 7);
  EXPECT_FALSE(flags->serve_prefix_caching);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--port", "65536"},
                                                {"--port", "http"},
                                                {"--max-num-seqs", "0"},
                                                {"--max-num-seqs", "65"},
                                                {"--max-num-batched-tokens", "0"},
                                                {"--max-num-batched-tokens", "257"},
                                                {"--audit-rate", "1.5"},
                                                {"--watchdog-seconds", "-1"},
                                                {"--api-key="},
                                                {"--allowed-origins", "a.example"},
                                                {"--allowed-origins", "http://a,"},
                                                {"--allowed-origins", "[5]"},
                                                {"--host="},
                                                {"a prompt"}}) {
    std::vector<std::string> arguments = {"--model", "m.gguf"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    EXPECT_FALSE(Parse(Subcommand::kServe, arguments).ok()) << wrong[0];
  }
}

TEST(Flags, EveryFlagSetsItsField) {
  const Flags f = ParseRun({"--max-model-len",
                            "2048",
                            "--threads=3",
                            "--kv-cache-dtype",
                            "f32",
                            "--raw",
                            "--show-speculation",
                            "--json",
                            "--max-tokens",
                            "7",
                            "--min-tokens",
                            "2",
                            "--temperature",
                            "0.7",
                            "--top-p",
                            "0.9",
                            "--top-k",
                            "40",
                            "--min-p",
                            "0.05",
                            "--typical-p",
                            "0.95",
                            "--repetition-penalty",
                            "1.1",
                            "--presence-penalty",
                            "-1.5",
                            "--frequency-penalty",
                            "0.5",
                            "--logit-bias",
                            R"({"5": -100, "7": 2.5})",
                            "--seed",
                            "18446744073709551615",
                            "--stop",
                            "a",
                            "--stop",
                            "b",
                            "--stop-token-ids",
                            "1,2",
                            "--stop-token-ids",
                            "3",
                            "--ignore-eos",
                            "--logprobs",
                            "3",
                            "--speculative-config",
                            R"({"method": "ngram"})",
                            "hello"});
  EXPECT_EQ(f.model, "m.gguf");
  EXPECT_EQ(f.max_model_len, 2048);
  EXPECT_EQ(f.threads, 3);
  EXPECT_EQ(f.kv_cache_dtype, KvType::kF32);
  EXPECT_TRUE(f.raw && f.show_speculation && f.json && f.sampling.ignore_eos);
  EXPECT_EQ(f.Sampling(99).max_tokens, 7);
  EXPECT_EQ(f.sampling.min_tokens, 2);
  EXPECT_EQ(f.sampling.temperature, 0.7f);
  EXPECT_EQ(f.sampling.top_p, 0.9f);
  EXPECT_EQ(f.sampling.top_k, 40);
  EXPECT_EQ(f.sampling.min_p, 0.05f);
  EXPECT_EQ(f.sampling.typical_p, 0.95f);
  EXPECT_EQ(f.sampling.repetition_penalty, 1.1f);
  EXPECT_EQ(f.sampling.presence_penalty, -1.5f);
  EXPECT_EQ(f.sampling.frequency_penalty, 0.5f);
  EXPECT_THAT(f.sampling.logit_bias, ElementsAre(Pair(5, -100.0f), Pair(7, 2.5f)));
  EXPECT_EQ(f.sampling.seed, 18446744073709551615u);
  EXPECT_THAT(f.sampling.stop, ElementsAre("a", "b"));
  EXPECT_THAT(f.sampling.stop_token_ids, ElementsAre(1, 2, 3));
  EXPECT_EQ(f.sampling.logprobs, 3);
  EXPECT_EQ(f.speculation.method, DraftMethod(DrafterKind::kNgram));
  EXPECT_THAT(f.words, ElementsAre("hello"));
}

TEST(Flags, BenchFlags) {
  const auto f =
      Parse(Subcommand::kBench,
            {"--model", "m", "--prompts", "a", "--prompts", "b", "--n", "4", "--rounds", "2",
             "--methods", "ngram,none,ngram+draft_model,ngram,auto:8,auto:threshold"});
  ASSERT_TRUE(f.ok()) << f.error().message;
  EXPECT_THAT(f.value().prompt_files, ElementsAre("a", "b"));
  EXPECT_EQ(f.value().per_category, 4);
  EXPECT_EQ(f.value().rounds, 2);
  EXPECT_THAT(*f.value().methods,
              ElementsAre(MethodChoice{DrafterKind::kNgram}, MethodChoice{},
                          MethodChoice{ParseDraftMethod("ngram+draft_model").value()},
                          MethodChoice{.method = DraftMethod::Auto(), .guesses = 8},
                          MethodChoice{.method = DraftMethod::Auto(), .threshold = true}));
  for (const char* wrong :
       {"oracle", "ngram+ngram", "ngram:0", "ngram:65", "ngram:x", "none:4", ""}) {
    EXPECT_FALSE(Parse(Subcommand::kBench, {"--model", "m", "--methods", wrong}).ok()) << wrong;
  }
}

TEST(Flags, AcceptanceWarningHoldsWhateverStandsFirst) {
  const std::vector<std::string> config = {"--speculative-config",
                                           R"({"acceptance_warning": 0.9})"};
  const std::vector<std::string> flag = {"--acceptance-warning", "0.25"};
  for (const bool flag_first : {false, true}) {
    std::vector<std::string> arguments = {"--model", "m"};
    const auto& first = flag_first ? flag : config;
    const auto& last = flag_first ? config : flag;
    arguments.insert(arguments.end(), first.begin(), first.end());
    arguments.insert(arguments.end(), last.begin(), last.end());
    const auto flags = Parse(Subcommand::kRun, arguments);
    ASSERT_TRUE(flags.ok()) << flags.error().message;
    EXPECT_EQ(flags->speculation.fields.acceptance_warning, 0.25f);
  }
  EXPECT_FALSE(Parse(Subcommand::kRun, {"--model", "m", "--acceptance-warning", "2"}).ok());
}

TEST(Flags, BenchRowsFlags) {
  const auto f =
      Parse(Subcommand::kBenchRows, {"--model", "m", "--rows", "8,1,4,1", "--context", "0,4096",
                                     "--prompt", "64", "--repeat", "5", "--json", "-", "--svg",
                                     "a.svg", "--kv-cache-dtype", "f32", "--threads", "3"});
  ASSERT_TRUE(f.ok()) << f.error().message;
  EXPECT_THAT(f->rows, ElementsAre(1, 4, 8));
  EXPECT_THAT(f->contexts, ElementsAre(0, 4096));
  EXPECT_THAT(f->prompt_lengths, ElementsAre(64));
  EXPECT_EQ(f->repeats, 5);
  EXPECT_EQ(f->json_file, "-");
  EXPECT_EQ(f->svg_file, "a.svg");
  EXPECT_EQ(f->threads, 3);
}

TEST(Flags, BenchRowsErrors) {
  const struct {
    std::vector<std::string> arguments;
    std::string message;
  } cases[] = {
      {{"--rows", "0"}, "--rows: '0' is out of range; give a whole number from 1 to 256"},
      {{"--rows", "1,257"}, "--rows: '257' is out of range"},
      {{"--rows", ""}, "--rows: '' is not a whole number"},
      {{"--rows", "1,,2"}, "--rows: '' is not a whole number"},
      {{"--context", "-1"}, "--context: '-1' is out of range"},
      {{"--prompt", "0"}, "--prompt: '0' is out of range"},
      {{"--repeat", "4"}, "--repeat: '4' is out of range"},
      {{"--json"}, "--json needs a value: --json FILE"},
      {{"--svg", "-"}, "--svg: a plot goes to a file"},
      {{"--svg", "a", "--json", "a"}, "--json and --svg name the same file"},
      {{"--prompts", "p"}, "unknown flag --prompts; did you mean --prompt?"},
      {{"--temperature", "1"}, "unknown flag --temperature; see hunch bench rows --help"},
      {{"x"}, "unexpected argument 'x'; it takes flags only"},
  };
  for (const auto& c : cases) {
    std::vector<std::string> arguments = {"--model", "m"};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const auto flags = Parse(Subcommand::kBenchRows, arguments);
    ASSERT_FALSE(flags.ok()) << c.message;
    EXPECT_THAT(flags.error().message, HasSubstr(c.message));
  }
}

TEST(Flags, TheLastOfARepeatedFlagCounts) {
  EXPECT_EQ(ParseRun({"--seed", "1", "--seed=2"}).sampling.seed, 2u);
  EXPECT_THAT(
      ParseRun({"--logit-bias", R"({"1":1})", "--logit-bias", R"({"2":1})"}).sampling.logit_bias,
      ElementsAre(Pair(2, 1.0f)));
}

TEST(Flags, MaxTokensDefaultIsTheCallers) {
  EXPECT_EQ(ParseRun({}).Sampling(128).max_tokens, 128);
  EXPECT_EQ(ParseRun({"--max-tokens", "-1"}).Sampling(128).max_tokens, -1);
}

// Prompts are any text: no bracket, brace or dash in one means something to the parser.
TEST(Flags, TextsAreTakenAsTheyAre) {
  for (const char* text : {"[a,b]", "{}", "", "a=b", "%%", "-", "two words"}) {
    EXPECT_THAT(ParseRun({text}).words, ElementsAre(text));
    EXPECT_EQ(ParseRun({"--system", text}).system, text);
    EXPECT_EQ(ParseRun({fmt::format("--system={}", text), "word"}).system, text);
  }
  EXPECT_EQ(ParseRun({"--system", "--raw"}).system, "--raw");
  EXPECT_THAT(ParseRun({"--", "--raw"}).words, ElementsAre("--raw"));
  EXPECT_THAT(ParseRun({"--", "--"}).words, ElementsAre("--"));
}

TEST(Flags, ErrorsNameTheFlagAndTheReason) {
  const struct {
    std::vector<std::string> arguments;
    std::string message;
  } cases[] = {
      {{"--no-such-flag"}, "unknown flag --no-such-flag; see hunch run --help"},
      {{"--no-such-flag=1"}, "unknown flag --no-such-flag; see hunch run --help"},
      {{"--temprature", "1"}, "unknown flag --temprature; did you mean --temperature?"},
      {{"-x"}, "unknown flag -x; see hunch run --help"},
      {{"--prompts", "x"}, "unknown flag --prompts"},
      {{"--seed"}, "--seed needs a value: --seed N"},
      {{"--raw=1"}, "--raw takes no value"},
      {{"--temperature", "hot"}, "--temperature: 'hot' is not a number"},
      {{"--temperature", ""}, "--temperature: '' is not a number"},
      {{"--temperature", "1x"}, "--temperature: '1x' is not a number"},
      {{"--temperature", "nan"}, "--temperature: 'nan' is not a number"},
      {{"--temperature", "inf"}, "--temperature: 'inf' is not a number"},
      {{"--temperature", "-1"}, "--temperature: '-1' is out of range; give a number from 0 up"},
      {{"--top-p", "0"}, "--top-p: '0' is out of range; give a number above 0 to 1"},
      {{"--top-p", "1.01"}, "--top-p: '1.01' is out of range"},
      {{"--min-p", "-0.1"}, "--min-p: '-0.1' is out of range; give a number from 0 to 1"},
      {{"--typical-p", "0"}, "--typical-p: '0' is out of range"},
      {{"--top-k", "-2"}, "--top-k: '-2' is out of range; give a whole number from -1 up"},
      {{"--repetition-penalty", "0"},
       "--repetition-penalty: '0' is out of range; give a number above 0"},
      {{"--presence-penalty", "2.5"},
       "--presence-penalty: '2.5' is out of range; give a number from -2 to 2"},
      {{"--frequency-penalty", "-2.5"}, "--frequency-penalty: '-2.5' is out of range"},
      {{"--max-tokens", "0"}, "--max-tokens: '0' is out of range"},
      {{"--max-tokens", "-2"}, "--max-tokens: '-2' is out of range"},
      {{"--max-tokens", "1.5"}, "--max-tokens: '1.5' is not a whole number"},
      {{"--max-tokens", "99999999999"}, "--max-tokens: '99999999999' is out of range"},
      {{"--max-tokens", "99999999999999999999999"}, "is out of range"},
      {{"--min-tokens", "-1"}, "--min-tokens: '-1' is out of range"},
      {{"--seed", "-1"}, "--seed: '-1' is not a whole number from 0 to 2^64 - 1"},
      {{"--seed", "18446744073709551616"}, "--seed: '18446744073709551616' is not"},
      {{"--stop", ""}, "--stop: an empty stop string"},
      {{"--stop=", "a"}, "--stop: an empty stop string"},
      {{"--stop", "\xa9"}, "--stop: the stop string is not UTF-8"},
      {{"--stop", "a\xc3"}, "--stop: the stop string is not UTF-8"},
      {{"--stop-token-ids", "1,,2"}, "--stop-token-ids: '' is not a whole number"},
      {{"--stop-token-ids", "-1"}, "--stop-token-ids: '-1' is out of range"},
      {{"--logprobs", "21"}, "--logprobs: '21' is out of range; give a whole number from -1 to 20"},
      {{"--threads", "-1"}, "--threads: '-1' is out of range"},
      {{"--threads", "1025"}, "--threads: '1025' is out of range"},
      {{"--max-model-len", "-5"}, "--max-model-len: '-5' is out of range"},
      {{"--kv-cache-dtype", "q8"},
       "--kv-cache-dtype: unknown type 'q8'; use auto, f16, q8_0 or f32"},
      {{"--logit-bias", "{"}, "--logit-bias: bad JSON: parse error at line 1"},
      {{"--logit-bias", "[1]"}, "--logit-bias: bad JSON: expected an object, got an array"},
      {{"--logit-bias", R"({"x": 1})"}, "--logit-bias: token id 'x' is not a whole number"},
      {{"--logit-bias", R"({"-1": 1})"}, "--logit-bias: token id '-1' is out of range"},
      {{"--logit-bias", R"({"1": "a"})"}, "the bias of token 1 must be a number from -100 to 100"},
      {{"--logit-bias", R"({"1": 101})"}, "the bias of token 1 must be a number from -100 to 100"},
      {{"--speculative-config", "ngram"}, "--speculative-config: bad JSON"},
      {{"--file", ""}, "--file: the path is empty"},
      {{"--raw", "--system", "a"}, "--raw uses no chat template, so --system has no place"},
      {{"--logprobs", "2"}, "--logprobs needs --json"},
      {{"two", "words"}, "unexpected argument 'words'; quote a text of several words"},
  };
  for (const auto& c : cases) EXPECT_THAT(RunError(c.arguments), HasSubstr(c.message));
}

TEST(Flags, SubcommandsTakeTheirOwnWords) {
  EXPECT_THAT(Parse(Subcommand::kBench, {"--model", "m", "x"}).error().message,
              HasSubstr("unexpected argument 'x'; prompts are given with --prompts"));
  EXPECT_EQ(Parse(Subcommand::kInspect, {"m.gguf"}).value().model, "m.gguf");
  EXPECT_THAT(Parse(Subcommand::kInspect, {"m.gguf", "--model", "n"}).error().message,
              HasSubstr("given twice"));
  EXPECT_THAT(Parse(Subcommand::kInspect, {"a", "b"}).error().message,
              HasSubstr("unexpected argument 'b'"));
  EXPECT_THAT(Parse(Subcommand::kDetokenize, {"--model", "m", "1", "2", "3"}).value().words,
              ElementsAre("1", "2", "3"));
}

TEST(Flags, AModelIsNeeded) {
  for (int i = 0; i < kSubcommands; ++i) {
    const auto flags = Parse(static_cast<Subcommand>(i), {});
    ASSERT_FALSE(flags.ok());
    EXPECT_THAT(flags.error().message, HasSubstr("no model; give --model PATH"));
  }
  // Whoever gives the model as a word is told what is missing, not that the prompt is too much.
  EXPECT_THAT(Parse(Subcommand::kRun, {"m.gguf", "hi"}).error().message, HasSubstr("no model"));
}

TEST(Flags, HelpNeedsNothingElse) {
  for (int i = 0; i < kSubcommands; ++i) {
    EXPECT_TRUE(Parse(static_cast<Subcommand>(i), {"--help"}).value().help);
    EXPECT_TRUE(Parse(static_cast<Subcommand>(i), {"-h", "--no-such-flag"}).value().help);
  }
}

TEST(Help, FitsATerminalAndShowsAnExample) {
  std::vector<std::string> texts = {ProgramHelp()};
  for (int i = 0; i < kSubcommands; ++i) {
    const auto subcommand = static_cast<Subcommand>(i);
    texts.push_back(SubcommandHelp(subcommand));
    EXPECT_THAT(texts.back(), HasSubstr(fmt::format("\nExamples:\n")));
    EXPECT_THAT(texts.back(), HasSubstr(fmt::format("hunch {} ", SubcommandName(subcommand))));
    EXPECT_THAT(texts[0], HasSubstr(fmt::format("\n  {}", SubcommandName(subcommand))));
  }
  for (const std::string& text : texts) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      ASSERT_NE(end, std::string::npos);
      EXPECT_LE(end - begin, 100u) << text.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

TEST(Help, ShowsDefaults) {
  const std::string help = SubcommandHelp(Subcommand::kBench);
  EXPECT_THAT(help, HasSubstr("(default 3)"));
  EXPECT_THAT(help, HasSubstr("(default none,auto)"));
}

}  // namespace
}  // namespace hunch
