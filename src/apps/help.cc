// hunch --help and hunch SUB --help, from the table of flags.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/flags.h"

namespace hunch {
namespace {

constexpr size_t kWidth = 96;
constexpr char kGlue = '\x01';  // a space that Wrap does not break at
constexpr size_t kColumn = 30;  // where help texts begin

struct Description {
  std::string_view name;
  std::string_view words;    // after the flags in the usage line
  std::string_view summary;  // one line
  std::string_view text;     // paragraphs, already wrapped
  std::string_view examples;
};

constexpr std::array<Description, kSubcommands> kDescriptions = {{
    {"run", "[PROMPT]", "answer a prompt, or chat",
     "Answers PROMPT, the file of --file, or standard input (one final newline is dropped), with "
     "the\n"
     "model's chat template. Without any of them it starts a chat: /clear forgets it, "
     "/speculation JSON\n"
     "guesses another way, /exit or Ctrl-D leaves. Ctrl-C ends an answer and keeps what there "
     "is.\n",
     "  hunch run --model m.gguf \"Why is the sky blue?\"\n"
     "  hunch run --model m.gguf --raw --max-tokens 50 \"Once upon a time\"\n"
     "  git diff | hunch run --model m.gguf --system \"Write a commit message.\" --json\n"
     "  hunch run --model m.gguf --show-speculation --speculative-config '{\"method\": \"ngram\"}' "
     "-f p.txt\n"},
    {"serve", "", "an HTTP server that OpenAI's clients talk to",
     "Serves /v1/chat/completions, /v1/completions, /v1/models, /tokenize, /detokenize and "
     "/health, "
     "with\n"
     "as many requests in one pass as --max-num-seqs says, each with guessing. A request may say\n"
     "\"speculation\": {\"enabled\": ..., \"method\": ..., \"num_speculative_tokens\": ...}. The "
     "text "
     "does\n"
     "not depend on it, nor on what else runs. SIGTERM or Ctrl-C: no new requests, and exit code 0 "
     "once\n"
     "those that run are answered; a second one ends it at once.\n",
     "  hunch serve --model m.gguf --port 8000\n"
     "  hunch serve --model m.gguf --learn kept --speculative-config '{\"head\": \"head.gguf\"}'\n"
     "  curl localhost:8000/v1/chat/completions -d '{\"messages\": [{\"role\": \"user\", "
     "\"content\": "
     "\"Hi\"}]}'\n"},
    {"batch", "IN.jsonl", "answer a file of requests, in OpenAI's batch format",
     "Each line of IN.jsonl is {\"custom_id\": ..., \"method\": \"POST\", \"url\": ..., \"body\": "
     "...} with\n"
     "what hunch serve takes at /v1/chat/completions or /v1/completions. Its answer is a line of "
     "-o,\n"
     "in the order in which answers are ready. A line that is wrong is answered with its error "
     "and\n"
     "stops nothing. Killed or interrupted, the same command goes on where it was. A line without\n"
     "\"seed\" gets one from its custom_id, so its text is the same every time. Exit code 0: every "
     "line\n"
     "has its answer, even if that is an error; the last line on standard error counts those.\n",
     "  hunch batch --model m.gguf requests.jsonl -o answers.jsonl\n"
     "  hunch batch --model m.gguf --served-model-name gpt-4o-mini requests.jsonl -o "
     "answers.jsonl\n"},
    {"bench", "", "compare drafting methods on the same prompts",
     "Runs every method on every prompt, in turn and in rotating order, and compares each output "
     "with\n"
     "that of `none` (tokens and text). tokens/s: decoded tokens after the first per second of "
     "decoding,\n"
     "summed over the prompts of a round; median of the rounds. speed-up: wall time of whole "
     "requests,\n"
     "prompt passes included, `none` over the method, in the same round. accept: guesses accepted "
     "of\n"
     "guesses verified. Without \"method\", --speculative-config holds for every method that uses "
     "a field.\n"
     "Exit code 3: an output differs.\n",
     "  hunch bench --model m.gguf --prompts spec_bench.jsonl --n 4 --methods none,ngram\n"
     "  hunch bench --model big.gguf --prompts p.jsonl --methods "
     "none,draft_model,ngram+draft_model \\\n"
     "      --speculative-config '{\"model\": \"small.gguf\"}' --temperature 0.8 --json > "
     "result.json\n"},
    {"bench rows", "", "what a pass of M rows costs, beside the machine's limits",
     "Times passes of M rows after --context tokens, each row with logits as when guesses are "
     "verified,\n"
     "plain decoding there (one row and the greedy choice of the next token), and prompts (logits "
     "of the\n"
     "last row). The limit of a pass is max(bytes it must read / read bandwidth, multiply-adds / "
     "int8 dot\n"
     "peak), both measured with the same threads. A model that the cache holds can beat its "
     "limit.\n",
     "  hunch bench rows --model m.gguf --svg rows.svg\n"
     "  hunch bench rows --model m.gguf --rows 1,4,8 --context 512,4096 --json rows.json\n"},
    {"ngram build", "FILE...",
     "a table of what follows what in a corpus, for the method ngram_cache",
     "Tokenises text files (code, logs, documents: what answers will be like) with the model's "
     "tokenizer\n"
     "and counts what follows each 2 to 4 tokens. The table is for every model with that "
     "vocabulary.\n",
     "  hunch ngram build --model m.gguf -o src.ngc src/*.cc\n"
     "  hunch run --model m.gguf -f p.txt \\\n"
     "      --speculative-config '{\"method\": \"ngram_cache+suffix\", \"ngram_cache\": "
     "\"src.ngc\"}'\n"},
    {"vocab count", "FILE...",
     "the most frequent tokens of a corpus, to cut a draft model's output to",
     "Writes a list of token ids for \"draft_vocab\" of --speculative-config: the draft model then "
     "computes\n"
     "logits of these tokens only (FR-Spec, arXiv 2502.14856). Its guesses cost less; the text is "
     "the\nsame.\n",
     "  hunch vocab count --model m.gguf -o frequent.txt --tokens 32768 corpus/*.txt\n"},
    {"tune", "", "find the fastest way of guessing for your prompts",
     "Tries plain decoding, auto, suffix, ngram, token_recycling, the head that is shipped for "
     "the\n"
     "model and each --draft, with K guesses a step and with as many as pay, on the same prompts "
     "in\n"
     "turn. What is clearly behind after the first prompts runs no further. accept: guesses "
     "accepted\n"
     "of guesses verified. tok/s: whole requests, prompt passes included; expected: by acceptance "
     "and\n"
     "what passes of so many rows take. Where auto is as fast as the best, auto is taken. Ctrl-C "
     "shows\n"
     "what is known so far. Exit code 3: an output differs from plain decoding's.\n",
     "  hunch tune --model m.gguf --prompts mine.jsonl --out profile.json\n"
     "  hunch tune --model big.gguf --draft small.gguf --prompts p.jsonl --report tune.html\n"
     "  hunch run --model m.gguf --profile profile.json \"Why is the sky blue?\"\n"},
    {"train", "", "train a head or a draft model that guesses for a model, on its own answers",
     "The model answers the prompts of --prompts, or writes prompts itself and answers them. A "
     "head\n"
     "then learns to guess its tokens from its hidden states, until it gets no better on answers\n"
     "that it has not seen; -o always holds the best one so far. Killed or interrupted, the same\n"
     "command goes on where it was. tokens per pass: what chains of 5 guesses would give at\n"
     "temperature 0.\n\n"
     "--kind draft trains a model of its own instead, to give the model's probabilities: that of\n"
     "--from, or a copy of the model with a few of its layers. It is judged before, too, and "
     "written\n"
     "with the tokenizer that it came with, for --speculative-config '{\"model\": "
     "\"draft.gguf\"}'.\n"
     "The model itself never changes.\n\n"
     "It is a program of its own, hunch-train, which needs PyTorch: make train builds it.\n",
     "  hunch train --model m.gguf -o head.gguf\n"
     "  hunch train --model m.gguf --prompts p.jsonl --requests 20000 --quantization q4_0 -o "
     "head.gguf\n"
     "  hunch train --kind draft --model big.gguf --from small.gguf --prompts mine.jsonl -o "
     "draft.gguf\n"
     "  hunch train --kind draft --model m.gguf --layers 6 -o draft.gguf\n"},
    {"convert-head", "CHECKPOINT", "a published head, EAGLE's, EAGLE-3's or Medusa's, for a model",
     "Reads a head that others trained for the model and writes it as a file for "
     "--speculative-config.\n"
     "CHECKPOINT: its file of tensors (safetensors, or pytorch_model.bin and *.pt of torch, of "
     "which\n"
     "nothing is run), with config.json beside it, or the folder of both. Layouts: EAGLE and "
     "EAGLE-3\n"
     "of SafeAILab, SpecForge, vLLM's speculators, Medusa. What a head has that Hunch's cannot "
     "have\n"
     "is named and refused.\n",
     "  hunch convert-head published --model m.gguf -o head.gguf\n"
     "  hunch run --model m.gguf --speculative-config '{\"method\": \"eagle3\", \"model\": "
     "\"head.gguf\"}' Hi\n"},
    {"tokenize", "[TEXT]", "text to token ids",
     "Lists the tokens of TEXT or of standard input. With --json it reads lines\n"
     "{\"text\": ..., \"parse_special\": true|false} and answers a line {\"ids\": [...]} for "
     "each.\n",
     "  hunch tokenize --model m.gguf \"Hello, world\"\n"
     "  echo '{\"text\": \"<|im_end|>\", \"parse_special\": true}' | hunch tokenize --model m.gguf "
     "--json\n"},
    {"detokenize", "[ID...]", "token ids to text",
     "Prints the text of the ids given, or read from standard input. With --json it reads lines\n"
     "{\"ids\": [...]} and answers a line {\"text\": ...} for each. Bytes that are no UTF-8 become "
     "U+FFFD.\n",
     "  hunch detokenize --model m.gguf 19556 28 905\n"
     "  echo '{\"ids\": [19556, 28, 905]}' | hunch detokenize --model m.gguf --json\n"},
    {"inspect", "TARGET", "what a model file holds, and whether it fits here",
     "Reads the header of TARGET (and of --draft): architecture, tensor types, memory against what "
     "is\n"
     "free, tokenizer, end tokens, and whether the vocabularies fit. Exit code 1: it does not "
     "fit.\n",
     "  hunch inspect m.gguf\n"
     "  hunch inspect big.gguf --draft small.gguf --max-model-len 8192 --json\n"},
    {"demo", "[PROMPT]", "the same answer without and with speculation",
     "Answers PROMPT ($HUNCH_PROMPT, else a built-in one) plainly, then with speculation, and "
     "compares.\n"
     "Exit code 3: the outputs differ.\n",
     "  hunch demo --model m.gguf\n"
     "  hunch demo --model m.gguf \"Repeat this list, sorted: pear, fig, apple\"\n"},
}};

std::string_view GroupTitle(FlagGroup group) {
  switch (group) {
    case FlagGroup::kModel:
      return "Model";
    case FlagGroup::kServer:
      return "Server";
    case FlagGroup::kInput:
      return "Input";
    case FlagGroup::kBench:
      return "Benchmark";
    case FlagGroup::kTrain:
      return "Training";
    case FlagGroup::kSpeculation:
      return "Speculation";
    case FlagGroup::kSampling:
      return "Sampling";
    case FlagGroup::kOutput:
      return "Output";
  }
  return "";
}

// `text` broken at spaces, every line but the first indented to kColumn.
std::string Wrap(std::string_view text) {
  std::string out;
  while (text.size() > kWidth - kColumn) {
    const size_t space = text.rfind(' ', kWidth - kColumn);
    if (space == std::string_view::npos) break;
    out += fmt::format("{}\n{:{}}", text.substr(0, space), "", kColumn);
    text.remove_prefix(space + 1);
  }
  out += text;
  return out;
}

std::string FlagHelp(const FlagSpec& spec) {
  std::string left = "  ";
  if (!spec.short_name.empty()) left += fmt::format("{}, ", spec.short_name);
  left += spec.name;
  if (!spec.argument.empty()) left += fmt::format(" {}", spec.argument);
  std::string right(spec.help);
  // kGlue keeps "(default" and its value on one line.
  if (!spec.default_text.empty()) {
    right += fmt::format(" (default{}{})", kGlue, spec.default_text);
  }
  std::string wrapped = Wrap(right);
  std::replace(wrapped.begin(), wrapped.end(), kGlue, ' ');
  return fmt::format("{:<{}}{}\n", left, kColumn, wrapped);
}

const Description& DescriptionOf(Subcommand subcommand) {
  return kDescriptions[static_cast<size_t>(subcommand)];
}

}  // namespace

std::string_view SubcommandName(Subcommand subcommand) { return DescriptionOf(subcommand).name; }

std::optional<Subcommand> FindSubcommand(std::string_view name) {
  for (size_t i = 0; i < kDescriptions.size(); ++i) {
    if (kDescriptions[i].name == name) return static_cast<Subcommand>(i);
  }
  return std::nullopt;
}

std::string ProgramHelp() {
  std::string out =
      "hunch: language models on CPUs, ahead of plain decoding, with exactly the same text.\n\n"
      "Usage: hunch SUBCOMMAND [FLAGS]\n\n";
  for (const Description& description : kDescriptions) {
    out += fmt::format("  {:<14}{}\n", description.name, description.summary);
  }
  out +=
      "\n  hunch SUBCOMMAND --help   flags and examples\n"
      "  hunch --version\n\n"
      "Example:\n"
      "  hunch run --model m.gguf --speculative-config '{\"method\": \"ngram\"}' \"Hello!\"\n\n"
      "HUNCH_ISA=ref|avx2|avx512|neon forces an instruction set, HUNCH_HEADS=DIR names the folder "
      "of\n"
      "heads; the text does not depend on them.\n";
  return out;
}

std::string SubcommandHelp(Subcommand subcommand) {
  const Description& description = DescriptionOf(subcommand);
  std::string out = fmt::format(
      "hunch {}: {}\n\nUsage: hunch {} [FLAGS]{}{}\n\n{}", description.name, description.summary,
      description.name, description.words.empty() ? "" : " ", description.words, description.text);
  std::string_view title;
  for (const FlagSpec& spec : FlagTable()) {
    if (!(spec.subcommands & 1u << static_cast<int>(subcommand))) continue;
    if (GroupTitle(spec.group) != title) {
      title = GroupTitle(spec.group);
      out += fmt::format("\n{}:\n", title);
    }
    out += FlagHelp(spec);
  }
  out += fmt::format("\nExamples:\n{}", description.examples);
  return out;
}

}  // namespace hunch
