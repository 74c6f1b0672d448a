// The table of flags. Help, parser, tests and documentation read it; nothing else names a flag.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "apps/flags.h"
#include "apps/numbers.h"
#include "base/utf8.h"
#include "quant/quantize.h"
#include "server/cors.h"
#include "session/json_text.h"
#include "session/row_bench.h"

namespace hunch {
namespace {

constexpr int kNoLimit = std::numeric_limits<int>::max();

constexpr unsigned Bit(Subcommand subcommand) { return 1u << static_cast<int>(subcommand); }
constexpr unsigned kRun = Bit(Subcommand::kRun);
constexpr unsigned kServe = Bit(Subcommand::kServe);
constexpr unsigned kBatch = Bit(Subcommand::kBatch);
constexpr unsigned kBench = Bit(Subcommand::kBench);
constexpr unsigned kRows = Bit(Subcommand::kBenchRows);
constexpr unsigned kNgram = Bit(Subcommand::kNgramBuild);
constexpr unsigned kVocab = Bit(Subcommand::kVocabCount);
constexpr unsigned kInspect = Bit(Subcommand::kInspect);
constexpr unsigned kTokens = Bit(Subcommand::kTokenize) | Bit(Subcommand::kDetokenize);
constexpr unsigned kTune = Bit(Subcommand::kTune);
constexpr unsigned kTrain = Bit(Subcommand::kTrain);
constexpr unsigned kConvert = Bit(Subcommand::kConvertHead);
constexpr unsigned kConfigured = kRun | kBench | Bit(Subcommand::kDemo);
constexpr unsigned kGenerate = kConfigured | kTune;
constexpr unsigned kAll =
    kGenerate | kServe | kBatch | kRows | kNgram | kVocab | kTokens | kInspect | kTrain | kConvert;

Error Wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

// Calls `use` with each part of a list "a,b,c".
template <typename Use>
Status ForEachPart(std::string_view list, Use&& use) {
  while (true) {
    const size_t comma = list.find(',');
    HUNCH_RETURN_IF_ERROR(use(list.substr(0, comma)));
    if (comma == std::string_view::npos) return Ok{};
    list.remove_prefix(comma + 1);
  }
}

Status SetText(std::string_view value, std::string_view what, std::string& out) {
  if (value.empty()) return Wrong(fmt::format("the {} is empty", what));
  out = value;
  return Ok{};
}

Status AddOrigin(Flags& flags, std::string_view origin) {
  HUNCH_RETURN_IF_ERROR(CheckOrigin(origin));
  flags.allowed_origins.emplace_back(origin);
  return Ok{};
}

// "a,b", or vLLM's JSON: ["a", "b"].
Status SetOrigins(Flags& flags, std::string_view value) {
  flags.allowed_origins.clear();
  if (!value.starts_with('[')) {
    return ForEachPart(value, [&](std::string_view part) { return AddOrigin(flags, part); });
  }
  HUNCH_ASSIGN_OR_RETURN(const Json list, ParseJson(value));
  for (const Json& origin : list) {
    if (!origin.is_string()) return Wrong("a JSON list of origins has strings only");
    HUNCH_RETURN_IF_ERROR(AddOrigin(flags, origin.get<std::string>()));
  }
  return Ok{};
}

Status SetKvType(Flags& flags, std::string_view value) {
  HUNCH_ASSIGN_OR_RETURN(flags.kv_cache_dtype, ParseKvCacheDtype(value));
  return Ok{};
}

Status SetSpeculation(Flags& flags, std::string_view value) {
  HUNCH_ASSIGN_OR_RETURN(flags.speculation, ParseSpeculationFlag(value));
  flags.speculation_given = true;
  return Ok{};
}

Status SetMethods(Flags& flags, std::string_view value) {
  std::vector<MethodChoice> methods;
  HUNCH_RETURN_IF_ERROR(ForEachPart(value, [&](std::string_view name) -> Status {
    HUNCH_ASSIGN_OR_RETURN(const MethodChoice method, ParseMethodChoice(name));
    if (std::find(methods.begin(), methods.end(), method) == methods.end()) {
      methods.push_back(method);
    }
    return Ok{};
  }));
  flags.methods = std::move(methods);
  return Ok{};
}

Status SetLogitBias(Flags& flags, std::string_view value) {
  HUNCH_ASSIGN_OR_RETURN(const Json object, ParseJsonObject(value));
  flags.sampling.logit_bias.clear();
  for (const auto& [key, bias] : object.items()) {
    int token = 0;
    if (const Status status = ReadInt(key, 0, kNoLimit, token); !status.ok()) {
      return Wrong(fmt::format("token id {}", status.error().message));
    }
    if (!bias.is_number() || !(bias.get<double>() >= -100 && bias.get<double>() <= 100)) {
      return Wrong(fmt::format("the bias of token {} must be a number from -100 to 100", token));
    }
    flags.sampling.logit_bias.emplace_back(token, bias.get<float>());
  }
  return Ok{};
}

bool IsUtf8(std::string_view text) {
  for (size_t position = 0; position < text.size();) {
    const Utf8Char character = DecodeUtf8(text, position);
    if (character.state != Utf8State::kValid) return false;
    position += character.length;
  }
  return true;
}

Status AddStop(Flags& flags, std::string_view value) {
  if (value.empty()) return Wrong("an empty stop string would stop everything");
  // One that is part of a character's bytes would cut the text inside of it.
  if (!IsUtf8(value)) return Wrong("the stop string is not UTF-8, so no text can hold it");
  flags.sampling.stop.emplace_back(value);
  return Ok{};
}

Status AddStopTokens(Flags& flags, std::string_view value) {
  return ForEachPart(value, [&](std::string_view id) -> Status {
    int token = 0;
    HUNCH_RETURN_IF_ERROR(ReadInt(id, 0, kNoLimit, token));
    flags.sampling.stop_token_ids.push_back(token);
    return Ok{};
  });
}

Status SetMaxTokens(Flags& flags, std::string_view value) {
  int count = 0;
  HUNCH_RETURN_IF_ERROR(ReadInt(value, -1, kNoLimit, count));
  if (count == 0) return Wrong("'0' is out of range; give a whole number from 1 up, or -1");
  flags.max_tokens = count;
  return Ok{};
}

Status SetAcceptance(Flags& flags, std::string_view value) {
  AcceptanceRule& rule = flags.sampling.acceptance;
  if (value == "coupled") {
    rule = AcceptanceRule::kCoupled;
  } else if (value == "ratio") {
    rule = AcceptanceRule::kRatio;
  } else if (value == "block") {
    rule = AcceptanceRule::kBlock;
  } else {
    return Wrong(fmt::format("unknown rule '{}': use coupled, ratio or block", value));
  }
  return Ok{};
}

Status SetTopK(Flags& flags, std::string_view value) {
  return ReadInt(value, -1, kNoLimit, flags.sampling.top_k);
}

Status AddPromptFile(Flags& flags, std::string_view value) {
  flags.prompt_files.emplace_back();
  return SetText(value, "path", flags.prompt_files.back());
}

// "1,2,8": ascending, each once.
Status SetInts(std::string_view value, int least, int most, std::vector<int>& out) {
  std::vector<int> numbers;
  HUNCH_RETURN_IF_ERROR(ForEachPart(value, [&](std::string_view part) {
    return ReadInt(part, least, most, numbers.emplace_back());
  }));
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  out = std::move(numbers);
  return Ok{};
}

Status SetSvgFile(Flags& flags, std::string_view value) {
  if (value == "-") return Wrong("a plot goes to a file; give its path");
  return SetText(value, "path", flags.svg_file);
}

Status SetReportFile(Flags& flags, std::string_view value) {
  if (value == "-") return Wrong("a page goes to a file; give its path");
  return SetText(value, "path", flags.report_file);
}

Status SetOutFile(Flags& flags, std::string_view value) {
  if (value == "-") return Wrong("a profile goes to a file; give its path");
  return SetText(value, "path", flags.out_file);
}

Status SetTrainKind(Flags& flags, std::string_view value) {
  for (const HeadKind kind : {HeadKind::kEagle3, HeadKind::kEagle, HeadKind::kMedusa}) {
    if (HeadKindName(kind) != value) continue;
    flags.train.kind = kind;
    return Ok{};
  }
  if (value != "draft") {
    return Wrong(fmt::format("unknown kind '{}': use eagle3, eagle, medusa or draft", value));
  }
  flags.train.kind.reset();
  return Ok{};
}

Status SetTrainSeed(Flags& flags, std::string_view value) {
  HUNCH_RETURN_IF_ERROR(ReadUnsigned(value, flags.train.texts.seed));
  flags.train.options.seed = flags.train.texts.seed;
  return Ok{};
}

Status SetBatchTokens(Flags& flags, std::string_view value) {
  int tokens = 0;
  HUNCH_RETURN_IF_ERROR(ReadInt(value, 64, 1 << 20, tokens));
  flags.train.batch_tokens = tokens;
  return Ok{};
}

Status SetLearningRate(Flags& flags, std::string_view value) {
  float rate = 0;
  HUNCH_RETURN_IF_ERROR(ReadFloat(value, {.most = 1, .open = true}, rate));
  flags.train.learning_rate = rate;
  return Ok{};
}

Status SetPrecision(Flags& flags, std::string_view value) {
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    if (PrecisionName(precision) != value) continue;
    flags.train.options.precision = precision;
    return Ok{};
  }
  return Wrong(fmt::format("unknown type '{}': use f32 or bf16", value));
}

Status SetExportType(Flags& flags, std::string_view value) {
  std::string upper(value);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  for (const TensorType type : kHeadTypes) {
    if (GetTypeTraits(type).name != upper) continue;
    flags.train.options.type = type;
    return Ok{};
  }
  return Wrong(fmt::format("unknown type '{}': use q8_0, q4_0, f16 or f32", value));
}

// clang-format off
constexpr auto kTable = std::to_array<FlagSpec>({
  {"--model", "", "PATH", "", "GGUF file of the model", FlagGroup::kModel, kAll,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.model); }},
  {"--draft", "", "PATH", "", "GGUF file of a draft model to check against it", FlagGroup::kModel, kInspect,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.draft); }},
  {"--head", "", "PATH", "the one that is shipped for it", "GGUF file of a head to check against it; none: without any", FlagGroup::kModel, kInspect,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.head); }},
  {"--draft", "", "PATH", "", "GGUF file of a draft model, or of a head, to try (repeatable)", FlagGroup::kModel, kTune,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.drafts.emplace_back()); }},
  {"--max-model-len", "", "N", "0: the model's own, at most 32768, less where memory is short", "context: most tokens of prompt and output together", FlagGroup::kModel, kGenerate | kServe | kBatch | kInspect,
   [](Flags& f, std::string_view v) { return ReadInt(v, 0, kNoLimit, f.max_model_len); }},
  {"--max-num-seqs", "", "N", "1", "sequences that the cache must hold at once", FlagGroup::kModel, kInspect,
   [](Flags& f, std::string_view v) { return ReadInt(v, 1, 65536, f.max_num_seqs); }},
  {"--max-num-seqs", "", "N", "8", "sequences that run at once; the cache holds as many of full length", FlagGroup::kModel, kServe | kBatch,
   [](Flags& f, std::string_view v) { return ReadInt(v, 1, 64, f.served_seqs); }},
  {"--max-num-batched-tokens", "", "N", "256", "rows of a pass: prompt parts, single tokens and guesses; fewer: others wait less while a long prompt is read", FlagGroup::kModel, kServe | kBatch,
   [](Flags& f, std::string_view v) { return ReadInt(v, 1, 256, f.batched_tokens); }},
  {"--enable-prefix-caching", "", "", "", "read prompts that begin alike once (on unless --no-enable-prefix-caching)", FlagGroup::kModel, kServe | kBatch,
   [](Flags& f, std::string_view) -> Status { f.serve_prefix_caching = true; return Ok{}; }},
  {"--no-enable-prefix-caching", "", "", "", "read every prompt whole", FlagGroup::kModel, kServe | kBatch,
   [](Flags& f, std::string_view) -> Status { f.serve_prefix_caching = false; return Ok{}; }},
  {"--kv-cache-dtype", "", "TYPE", "auto: f16", "type of cached keys and values: f16, q8_0 (half the memory, less exact) or f32", FlagGroup::kModel, kGenerate | kServe | kBatch | kRows | kInspect, SetKvType},
  {"--threads", "", "N", "0: the CPUs that affinity and cgroup give", "threads that compute", FlagGroup::kModel, kGenerate | kServe | kBatch | kRows | kTrain,
   [](Flags& f, std::string_view v) { return ReadInt(v, 0, 1024, f.threads); }},
  {"--served-model-name", "", "NAME", "", "the model's name in requests, instead of its file's (repeatable)", FlagGroup::kModel, kBatch,
   [](Flags& f, std::string_view v) { return SetText(v, "name", f.model_names.emplace_back()); }},

  {"--host", "", "HOST", "127.0.0.1: this machine only", "address to listen on; 0.0.0.0 for all", FlagGroup::kServer, kServe,
   [](Flags& f, std::string_view v) { return SetText(v, "address", f.host); }},
  {"--port", "", "N", "8000", "port to listen on; 0: any free one", FlagGroup::kServer, kServe,
   [](Flags& f, std::string_view v) { return ReadInt(v, 0, 65535, f.port); }},
  {"--api-key", "", "KEY", "", "serve only those who send it as 'Authorization: Bearer KEY'", FlagGroup::kServer, kServe,
   [](Flags& f, std::string_view v) { return SetText(v, "key", f.api_key); }},
  {"--allowed-origins", "", "LIST", "", "sites whose pages may read answers in a browser (CORS), by commas, as https://host:port; *: all", FlagGroup::kServer, kServe, SetOrigins},
  {"--served-model-name", "", "NAME", "", "the model's name for clients, instead of its file's (repeatable)", FlagGroup::kServer, kServe,
   [](Flags& f, std::string_view v) { return SetText(v, "name", f.model_names.emplace_back()); }},
  {"--audit-rate", "", "SHARE", "0.01", "decode this part of the answers again, plainly, while nothing else is to do, and count those that differ; 0: none", FlagGroup::kServer, kServe,
   [](Flags& f, std::string_view v) { return ReadFloat(v, {.most = 1}, f.audit_rate); }},
  {"--watchdog-seconds", "", "N", "60", "end the process, with the stack, when a step takes longer; 0: never", FlagGroup::kServer, kServe,
   [](Flags& f, std::string_view v) { return ReadInt(v, 0, 86400, f.watchdog_seconds); }},
  {"--max-queue-len", "", "N", "128", "sequences that may wait; more are refused with status 429", FlagGroup::kServer, kServe,
   [](Flags& f, std::string_view v) { return ReadInt(v, 0, 65536, f.max_queued); }},

  {"--learn", "", "FOLDER", "", "learn while serving: text that is answered, but to requests with a cache_salt, is kept in this folder, and the head in use goes on learning from it at idle priority; needs hunch-train", FlagGroup::kServer, kServe,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.learn); }},
  {"--learn-gb", "", "GB", "1", "most text, with the model's hidden states, that is kept to learn from; the oldest goes", FlagGroup::kServer, kServe,
   [](Flags& f, std::string_view v) { return ReadFloat(v, {.most = 1e6, .open = true}, f.learn_gb); }},
  {"--learn-tokens", "", "N", "4096", "tokens of new answers before the head learns again", FlagGroup::kServer, kServe,
   [](Flags& f, std::string_view v) { return ReadInt(v, 256, kNoLimit, f.learn_tokens); }},

  {"--file", "-f", "PATH", "", "read the prompt from a file ('-': standard input)", FlagGroup::kInput, kRun,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.file.emplace()); }},
  {"--raw", "", "", "", "complete the prompt as it is, without the chat template", FlagGroup::kInput, kGenerate,
   [](Flags& f, std::string_view) -> Status { f.raw = true; return Ok{}; }},
  {"--system", "", "TEXT", "", "system message of the chat (not with --raw)", FlagGroup::kInput, kGenerate,
   [](Flags& f, std::string_view v) -> Status { f.system = v; return Ok{}; }},
  {"--out", "-o", "PATH", "", "the file to write", FlagGroup::kOutput, kBatch | kNgram | kVocab | kTrain | kConvert,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.out_file); }},
  {"--tokens", "", "N", "32768", "how many tokens to keep", FlagGroup::kInput, kVocab,
   [](Flags& f, std::string_view v) { return ReadInt(v, 1, kNoLimit, f.vocab_tokens); }},
  {"--taps", "", "LIST", "", "layers whose output an eagle3 head reads, by commas, from 0; else as its config.json says", FlagGroup::kInput, kConvert,
   [](Flags& f, std::string_view v) { return SetInts(v, 0, kNoLimit, f.train.taps); }},
  {"--quantization", "", "TYPE", "q8_0", "type of the head's matrices: q8_0, q4_0, f16 or f32", FlagGroup::kOutput, kConvert, SetExportType},
  {"--parse-special", "", "", "", "special tokens in the text become single ids", FlagGroup::kInput, Bit(Subcommand::kTokenize),
   [](Flags& f, std::string_view) -> Status { f.parse_special = true; return Ok{}; }},

  {"--prompts", "", "FILE", "", "prompts, one JSON object {id, category, prompt} a line (repeatable)", FlagGroup::kBench, kBench | kTune, AddPromptFile},
  {"--prompts", "", "FILE", "", "prompts, one JSON object {id, category, prompt} a line (repeatable); without any the model writes its own", FlagGroup::kTrain, kTrain, AddPromptFile},
  {"--n", "", "N", "0: all", "first N prompts of each category of each file", FlagGroup::kBench, kBench,
   [](Flags& f, std::string_view v) { return ReadInt(v, 0, kNoLimit, f.per_category); }},
  {"--n", "", "N", "2", "first N prompts of each category of each file; 0: all", FlagGroup::kBench, kTune,
   [](Flags& f, std::string_view v) { return ReadInt(v, 0, kNoLimit, f.tune_per_category); }},
  {"--rounds", "", "N", "3", "how often every method answers every prompt", FlagGroup::kBench, kBench,
   [](Flags& f, std::string_view v) { return ReadInt(v, 1, 10000, f.rounds); }},
  {"--methods", "", "LIST", "none,auto", "methods to compare, by commas, each alone or as METHOD:N (N guesses a step) or METHOD:threshold; 'none' always runs", FlagGroup::kBench, kBench, SetMethods},
  {"--rows", "", "LIST", "1,2,3,4,5,6,8,12,16,32,128", "rows of the passes to time, by commas, 1 to 256", FlagGroup::kBench, kRows,
   [](Flags& f, std::string_view v) { return SetInts(v, 1, kMostBenchRows, f.rows); }},
  {"--context", "", "LIST", "512", "tokens before a pass, by commas", FlagGroup::kBench, kRows,
   [](Flags& f, std::string_view v) { return SetInts(v, 0, kNoLimit, f.contexts); }},
  {"--prompt", "", "LIST", "128,1024", "lengths of the prompts to time, by commas", FlagGroup::kBench, kRows,
   [](Flags& f, std::string_view v) { return SetInts(v, 1, kNoLimit, f.prompt_lengths); }},
  {"--repeat", "", "N", "7", "how often everything is timed, in turn; at least 5", FlagGroup::kBench, kRows,
   [](Flags& f, std::string_view v) { return ReadInt(v, 5, 10000, f.repeats); }},

  {"--kind", "", "KIND", "eagle3", "eagle3 (one layer over three taps), eagle (one over the last hidden state, with the model's output matrix), medusa (a head for each place ahead), or draft (a draft model)", FlagGroup::kTrain, kTrain, SetTrainKind},
  {"--requests", "", "N", "0: one for each prompt, or 1000", "answers to learn from", FlagGroup::kTrain, kTrain,
   [](Flags& f, std::string_view v) { return ReadInt(v, 0, 10'000'000, f.train.requests); }},
  {"--max-tokens", "", "N", "384", "most tokens of an answer", FlagGroup::kTrain, kTrain,
   [](Flags& f, std::string_view v) { return ReadInt(v, 8, 4096, f.train.texts.most_answer_tokens); }},
  {"--temperature", "", "T", "0.8", "of every second answer; the others are greedy", FlagGroup::kTrain, kTrain,
   [](Flags& f, std::string_view v) { return ReadFloat(v, {}, f.train.texts.temperature); }},
  {"--seed", "", "N", "0", "keys all chance: same seed, same texts, same weights", FlagGroup::kTrain, kTrain, SetTrainSeed},
  {"--steps", "", "N", "3", "tokens ahead that a head learns: steps of training-time test, or heads", FlagGroup::kTrain, kTrain,
   [](Flags& f, std::string_view v) { return ReadInt(v, 1, 8, f.train.options.steps); }},
  {"--taps", "", "LIST", "", "layers whose output eagle3 reads, by commas, from 0; else 2, the middle one and the last but two", FlagGroup::kTrain, kTrain,
   [](Flags& f, std::string_view v) { return SetInts(v, 0, kNoLimit, f.train.taps); }},
  {"--head-tokens", "", "N", "8192", "tokens that the head can guess: those that the answers have most", FlagGroup::kTrain, kTrain,
   [](Flags& f, std::string_view v) { return ReadInt(v, 32, kNoLimit, f.train.head_tokens); }},
  {"--layers", "", "LIST", "", "of draft: how many layers it keeps of the model (or of --from), the first two thirds of them from its beginning, the others from its end; or which, by commas, from 0; else a fifth (or all of --from)", FlagGroup::kTrain, kTrain,
   [](Flags& f, std::string_view v) { return SetInts(v, 0, kNoLimit, f.train.layers); }},
  {"--from", "", "FILE", "", "a head of the same model to go on from, on other prompts say; its kind, taps and tokens stay. With --kind draft a draft model of the same vocabulary", FlagGroup::kTrain, kTrain,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.train.from); }},
  {"--learn", "", "FOLDER", "", "learn from what hunch serve --learn kept there instead, at idle priority; with --from", FlagGroup::kTrain, kTrain,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.train.learn); }},
  {"--epochs", "", "N", "10", "most times that every answer is learned from; it ends sooner if nothing gets better", FlagGroup::kTrain, kTrain,
   [](Flags& f, std::string_view v) { return ReadInt(v, 1, 10000, f.train.options.epochs); }},
  {"--batch-tokens", "", "N", "", "tokens of prompts and answers for each update; else 512, with --from or of --kind draft 2048", FlagGroup::kTrain, kTrain, SetBatchTokens},
  {"--learning-rate", "", "R", "", "the highest; it rises to it at first and falls to a tenth; else 0.001, with --from or of --kind draft 0.0005, of both 0.0001", FlagGroup::kTrain, kTrain, SetLearningRate},
  {"--precision", "", "TYPE", "", "how matrices are multiplied: f32 or bf16; else the faster one, as timed", FlagGroup::kTrain, kTrain, SetPrecision},
  {"--quantization", "", "TYPE", "q8_0", "type of the matrices that are written: q8_0, q4_0, f16 or f32", FlagGroup::kTrain, kTrain, SetExportType},
  {"--features-gb", "", "GB", "8", "most hidden states on the disk, so that the model reads an answer once; of the others it reads them in every epoch", FlagGroup::kTrain, kTrain,
   [](Flags& f, std::string_view v) { return ReadFloat(v, {}, f.train.features_gb); }},
  {"--work", "", "FOLDER", "", "where answers, hidden states and checkpoints are kept; else the path of -o and .train", FlagGroup::kTrain, kTrain,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.train.work); }},

  {"--speculative-config", "", "JSON", "{\"method\": \"auto\"}", "how to guess ahead: \"method\" is none, auto, or drafters joined by '+' (ngram, suffix, ngram_cache, token_recycling, lookahead, draft_model, eagle3, eagle2, eagle, medusa); \"model\": GGUF of the draft model; \"head\": GGUF of the head for the last four and auto, instead of the one that is shipped for the model, or none; \"num_speculative_tokens\": N for N guesses a step instead of as many as pay; \"policy\": goodput, fixed or threshold; see README", FlagGroup::kSpeculation, kConfigured | kServe | kBatch, SetSpeculation},
  {"--heads", "", "DIR", "$HUNCH_HEADS: else those installed with hunch", "folder of heads, *.gguf, of which the one that fits the model is used where none is named", FlagGroup::kSpeculation, kGenerate | kServe | kBatch | kInspect,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.heads); }},
  {"--acceptance-warning", "", "SHARE", "0.5: but 0 with auto", "warn once when fewer of the guesses are accepted; 0: never", FlagGroup::kSpeculation, kConfigured | kServe | kBatch,
   [](Flags& f, std::string_view v) { return ReadFloat(v, {.most = 1}, f.acceptance_warning.emplace()); }},
  {"--profile", "", "FILE", "", "take what hunch tune found best with this model on this machine; --speculative-config wins over it", FlagGroup::kSpeculation, kConfigured | kServe | kBatch,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.profile); }},

  {"--max-tokens", "", "N", "-1: until the context is full; bench, tune, demo: 128", "most tokens of the answer", FlagGroup::kSampling, kGenerate, SetMaxTokens},
  {"--min-tokens", "", "N", "0", "no end token before this many tokens", FlagGroup::kSampling, kGenerate,
   [](Flags& f, std::string_view v) { return ReadInt(v, 0, kNoLimit, f.sampling.min_tokens); }},
  {"--temperature", "", "T", "0", "0 is greedy; above it, tokens are sampled", FlagGroup::kSampling, kGenerate,
   [](Flags& f, std::string_view v) { return ReadFloat(v, {}, f.sampling.temperature); }},
  {"--top-p", "", "P", "1", "keep the likeliest tokens that reach this probability", FlagGroup::kSampling, kGenerate,
   [](Flags& f, std::string_view v) { return ReadFloat(v, {.most = 1, .open = true}, f.sampling.top_p); }},
  {"--top-k", "", "K", "0: off", "keep the K likeliest tokens", FlagGroup::kSampling, kGenerate, SetTopK},
  {"--min-p", "", "P", "0", "drop tokens below this share of the likeliest one's probability", FlagGroup::kSampling, kGenerate,
   [](Flags& f, std::string_view v) { return ReadFloat(v, {.most = 1}, f.sampling.min_p); }},
  {"--typical-p", "", "P", "1", "keep the tokens of most typical surprise that reach this probability", FlagGroup::kSampling, kGenerate,
   [](Flags& f, std::string_view v) { return ReadFloat(v, {.most = 1, .open = true}, f.sampling.typical_p); }},
  {"--repetition-penalty", "", "R", "1", "divide the scores of tokens already in prompt or output", FlagGroup::kSampling, kGenerate,
   [](Flags& f, std::string_view v) { return ReadFloat(v, {.open = true}, f.sampling.repetition_penalty); }},
  {"--presence-penalty", "", "A", "0", "lower the scores of tokens already in the output, -2 to 2", FlagGroup::kSampling, kGenerate,
   [](Flags& f, std::string_view v) { return ReadFloat(v, {.least = -2, .most = 2}, f.sampling.presence_penalty); }},
  {"--frequency-penalty", "", "A", "0", "the same per occurrence, -2 to 2", FlagGroup::kSampling, kGenerate,
   [](Flags& f, std::string_view v) { return ReadFloat(v, {.least = -2, .most = 2}, f.sampling.frequency_penalty); }},
  {"--logit-bias", "", "JSON", "", "{\"token id\": -100 to 100, ...} added to the scores", FlagGroup::kSampling, kGenerate, SetLogitBias},
  {"--acceptance", "", "RULE", "coupled", "how guesses are accepted: coupled (one text per seed, whatever is guessed), ratio or block (the model's distribution, another text)", FlagGroup::kSampling, kGenerate, SetAcceptance},
  {"--seed", "", "N", "0", "keys the sampling noise: same seed, same text", FlagGroup::kSampling, kGenerate,
   [](Flags& f, std::string_view v) { return ReadUnsigned(v, f.sampling.seed); }},
  {"--stop", "", "TEXT", "", "end before this text (repeatable)", FlagGroup::kSampling, kGenerate, AddStop},
  {"--stop-token-ids", "", "IDS", "", "end at these tokens, by commas (repeatable)", FlagGroup::kSampling, kGenerate, AddStopTokens},
  {"--ignore-eos", "", "", "", "go on past the model's end tokens", FlagGroup::kSampling, kGenerate,
   [](Flags& f, std::string_view) -> Status { f.sampling.ignore_eos = true; return Ok{}; }},
  {"--json-schema", "", "FILE", "", "the answer is JSON that matches this schema", FlagGroup::kSampling, kRun,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.json_schema_file); }},
  {"--grammar", "", "FILE", "", "the answer is text of this grammar (EBNF or GBNF, first rule 'root')", FlagGroup::kSampling, kRun,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.grammar_file); }},
  {"--logprobs", "", "N", "-1: none", "log-probabilities of each token and of the N likeliest (with --json)", FlagGroup::kSampling, kRun,
   [](Flags& f, std::string_view v) { return ReadInt(v, -1, 20, f.sampling.logprobs); }},

  {"--show-speculation", "", "", "", "colour the accepted guesses; a line of counts at the end", FlagGroup::kOutput, kRun,
   [](Flags& f, std::string_view) -> Status { f.show_speculation = true; return Ok{}; }},
  {"--json", "", "", "", "JSON on standard output and nothing else", FlagGroup::kOutput, kRun | kBench | kTune | kTokens | kInspect,
   [](Flags& f, std::string_view) -> Status { f.json = true; return Ok{}; }},
  {"--json", "", "FILE", "", "write JSON to a file ('-': to standard output, and nothing else)", FlagGroup::kOutput, kRows,
   [](Flags& f, std::string_view v) { return SetText(v, "path", f.json_file); }},
  {"--svg", "", "FILE", "", "write a plot to a file", FlagGroup::kOutput, kRows, SetSvgFile},
  {"--report", "", "FILE", "", "write the results as a page (HTML) with plots", FlagGroup::kOutput, kBench | kTune | kTrain, SetReportFile},
  {"--out", "", "FILE", "", "write the best setting as a profile for --profile", FlagGroup::kOutput, kTune, SetOutFile},
  {"--help", "-h", "", "", "this text", FlagGroup::kOutput, kAll,
   [](Flags& f, std::string_view) -> Status { f.help = true; return Ok{}; }},
});
// clang-format on

}  // namespace

std::span<const FlagSpec> FlagTable() { return kTable; }

}  // namespace hunch
