// The flags of the `hunch` program: one table that every subcommand shares, the values it fills,
// and the parser and help that read it. No global state: ParseFlags makes a Flags and returns it.
//
// The parser is ours because a prompt or a JSON object is any text: CLI11 2.1 splits "[a,b]" into a
// list, rewrites "{}", and lets "--stop=" swallow the next argument.
#ifndef HUNCH_APPS_FLAGS_H_
#define HUNCH_APPS_FLAGS_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/speculation_flag.h"
#include "base/result.h"
#include "hunch/sampling_params.h"
#include "session/llm.h"
#include "train/make_texts.h"
#include "train/train_head.h"

namespace hunch {

enum class Subcommand {
  kRun,
  kServe,
  kBatch,
  kBench,
  kBenchRows,
  kNgramBuild,
  kVocabCount,
  kTune,
  kTrain,
  kConvertHead,
  kTokenize,
  kDetokenize,
  kInspect,
  kDemo
};
inline constexpr int kSubcommands = 14;

// What `hunch train` takes; convert-head has taps and options.type of it.
struct TrainFlags {
  std::optional<HeadKind> kind = HeadKind::kEagle3;  // none: a draft model
  TextOptions texts;                                 // its prompts come from --prompts
  int requests = 0;                                  // 0: one for each prompt, or 1000 without any
  TrainOptions options;
  std::optional<int> batch_tokens;     // else by what is trained
  std::optional<float> learning_rate;  // likewise
  std::vector<int> layers;             // of a draft model; as DraftStudent takes them
  std::vector<int> taps;               // eagle3; none: chosen by the target's depth
  int head_tokens = 8192;              // that a head can guess
  std::string from;                    // head or draft model to go on from; "": a new one
  float features_gb = 8;               // most hidden states on the disk
  std::string learn;                   // folder of text that a server kept; "": the texts are made
  std::string work;  // folder of what a later run goes on from; "": beside the output
};

struct Flags {
  bool help = false;  // when set, nothing else is meaningful

  std::string model;
  std::string draft;                // inspect
  std::string head;                 // inspect
  std::string heads;                // folder of the heads that are shipped; "": the context's
  std::vector<std::string> drafts;  // tune
  int threads = 0;
  int max_model_len = 0;
  int max_num_seqs = 1;
  int max_num_batched_tokens = 0;  // 0: as many as a pass can have
  KvType kv_cache_dtype = KvType::kF16;
  bool enable_prefix_caching = false;

  SpeculationFlag speculation;
  std::optional<float> acceptance_warning;  // goes into speculation
  bool speculation_given = false;    // --speculative-config, rather than a profile or nothing
  std::string profile;               // run, bench, demo
  std::vector<PassTime> pass_times;  // of the profile; empty: not known
  SamplingParams sampling;           // its max_tokens is not filled: defaults differ by subcommand
  std::optional<int> max_tokens;     // -1: until the context is full

  std::string system;
  bool raw = false;
  std::optional<std::string> file;  // run
  std::string json_schema_file;     // run; goes into sampling
  std::string grammar_file;         // run; goes into sampling
  bool show_speculation = false;    // run
  bool json = false;
  bool parse_special = false;  // tokenize

  std::vector<std::string> prompt_files;             // bench, tune, train
  int per_category = 0;                              // bench; 0: all
  int tune_per_category = 2;                         // tune; 0: all
  int rounds = 3;                                    // bench
  std::optional<std::vector<MethodChoice>> methods;  // bench

  std::vector<int> contexts = {512};                               // bench rows
  std::vector<int> rows = {1, 2, 3, 4, 5, 6, 8, 12, 16, 32, 128};  // bench rows
  std::vector<int> prompt_lengths = {128, 1024};                   // bench rows
  int repeats = 7;                                                 // bench rows
  std::string json_file;    // bench rows; "-": standard output
  std::string svg_file;     // bench rows
  std::string report_file;  // bench, tune, train

  std::string out_file;  // batch, ngram build, vocab count; tune: the profile; convert-head: the
                         // head; train: that or the draft model
  int vocab_tokens = 32768;  // vocab count

  std::string host = "127.0.0.1";        // serve
  int port = 8000;                       // serve
  std::string api_key;                   // serve; "": none
  std::vector<std::string> model_names;  // serve, batch; none: the file's name
  int served_seqs = 8;                   // serve, batch: their --max-num-seqs
  int max_queued = 128;                  // serve
  int batched_tokens = 256;              // serve, batch: --max-num-batched-tokens
  float audit_rate = 0.01f;              // serve
  int watchdog_seconds = 60;             // serve; 0: never
  std::string learn;                     // serve: a folder; "": it does not learn
  float learn_gb = 1;                    // serve: most text that is kept to learn from
  int learn_tokens = 4096;               // serve: new tokens of answers for each round
  bool serve_prefix_caching = true;      // serve, batch
  // serve: whose pages may read answers in a browser; none: nobody's.
  std::vector<std::string> allowed_origins;

  TrainFlags train;

  std::vector<std::string> words;  // arguments that are not flags

  SamplingParams Sampling(int default_max_tokens) const;
};

enum class FlagGroup { kModel, kServer, kInput, kBench, kTrain, kSpeculation, kSampling, kOutput };

struct FlagSpec {
  std::string_view name;          // "--model"
  std::string_view short_name;    // "-f", or ""
  std::string_view argument;      // "PATH"; "": a switch
  std::string_view default_text;  // "": none worth saying
  std::string_view help;
  FlagGroup group;
  unsigned subcommands;  // bit 1 << Subcommand for each that takes it
  // Reads the value ("" for a switch) into the flags. The error gives the reason only.
  Status (*set)(Flags& flags, std::string_view value);
};

std::span<const FlagSpec> FlagTable();

// "run", "bench", "bench rows", ...
std::string_view SubcommandName(Subcommand subcommand);
std::optional<Subcommand> FindSubcommand(std::string_view name);

// `arguments` is what follows the subcommand's name. "--name value", "--name=value", "-f value",
// "--" before words that begin with a dash; the last of a repeated flag counts, unless it collects.
Result<Flags> ParseFlags(Subcommand subcommand, std::span<const std::string> arguments);

// hunch --help, and hunch SUB --help.
std::string ProgramHelp();
std::string SubcommandHelp(Subcommand subcommand);

}  // namespace hunch

#endif  // HUNCH_APPS_FLAGS_H_
