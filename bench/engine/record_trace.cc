// Records what drafters guess along the real model's text, for the simulation of the budget:
//
//   record_trace TARGET.gguf DRAFT.gguf PROMPTS.jsonl CATEGORY POSITIONS TEMPERATURE > NAME.trace
//
// The prompts of the category are answered in order (temperature, seed 1) until the answers have
// that many tokens; then each drafter is asked at every position, given the true prefix. The form
// of a trace is written in tests/support/acceptance_trace.h.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "draft/draft_model.h"
#include "draft/ngram.h"
#include "session/llm.h"

namespace hunch {
namespace {

constexpr int kContext = 4096;
constexpr int kAnswer = 192;  // tokens of one answer at most, so that a trace holds several
constexpr int kNgramDepth = 12, kModelDepth = 8;

struct Answer {
  std::string id;
  std::vector<TokenId> tokens;  // prompt and answer
  size_t prompt_tokens = 0;
};

SamplingParams ParamsFor(float temperature) {
  SamplingParams params;
  params.temperature = temperature;
  params.seed = 1;
  params.max_tokens = kAnswer;
  return params;
}

Result<std::vector<Answer>> AnswerAll(Llm& llm, const char* prompts, std::string_view category,
                                      size_t positions, float temperature) {
  std::vector<Answer> answers;
  std::ifstream file(prompts);
  std::string line;
  for (size_t recorded = 0; recorded < positions && std::getline(file, line);) {
    const auto prompt = nlohmann::json::parse(line);
    if (prompt.at("category") != category) continue;
    Answer answer;
    answer.id = prompt.at("id");
    const nlohmann::ordered_json messages = {
        {{"role", "user"}, {"content", prompt.at("prompt").get<std::string>()}}};
    HUNCH_ASSIGN_OR_RETURN(answer.tokens, llm.EncodeChat(messages));
    answer.prompt_tokens = answer.tokens.size();
    HUNCH_ASSIGN_OR_RETURN(
        const RequestOutput output,
        llm.Generate(answer.tokens, ParamsFor(temperature), SpeculativeConfig{}, {}));
    answer.tokens.insert(answer.tokens.end(), output.token_ids.begin(), output.token_ids.end());
    recorded += output.token_ids.size() - 1;
    answers.push_back(std::move(answer));
  }
  if (answers.empty()) return Error{ErrorCode::kInvalidArgument, "no prompt of this category"};
  return answers;
}

// "2/900*3,550": of four guesses two are right; beliefs in thousandths, equal ones counted.
std::string GuessesText(const DraftTree& chain, std::span<const TokenId> truth) {
  size_t right = 0;
  while (right < chain.tokens.size() && right < truth.size() &&
         chain.tokens[right] == truth[right]) {
    ++right;
  }
  std::string text = fmt::format("{}/", right);
  for (int i = 0; i < chain.size();) {
    const auto belief = [&](int node) {
      return static_cast<int>(1000 * chain.probabilities[node] + 0.5f);
    };
    int equal = 1;
    while (i + equal < chain.size() && belief(i + equal) == belief(i)) ++equal;
    text += fmt::format("{}{}", i == 0 ? "" : ",", belief(i));
    if (equal > 1) text += fmt::format("*{}", equal);
    i += equal;
  }
  return text;
}

Status Record(const Answer& answer, float temperature, NgramDrafter& ngram, DraftModel& model) {
  fmt::print("answer {} prompt {}\n", answer.id, answer.prompt_tokens);
  const std::span<const TokenId> all = answer.tokens;
  const std::span<const TokenId> prompt = all.first(answer.prompt_tokens);
  HUNCH_RETURN_IF_ERROR(ngram.Start(prompt, ParamsFor(temperature)));
  HUNCH_RETURN_IF_ERROR(model.Start(prompt, ParamsFor(temperature)));
  DraftTree tree;
  // The first token comes from the prompt's pass.
  for (size_t at = answer.prompt_tokens + 1; at < all.size(); ++at) {
    HUNCH_RETURN_IF_ERROR(ngram.Propose(all.first(at), {kNgramDepth, kNgramDepth, 0}, tree));
    fmt::print("{} ", GuessesText(tree, all.subspan(at)));
    HUNCH_RETURN_IF_ERROR(model.Propose(all.first(at), {kModelDepth, kModelDepth, 0}, tree));
    fmt::print("{}\n", GuessesText(tree, all.subspan(at)));
  }
  return Ok{};
}

Status Run(char** argv) {
  const float temperature = std::stof(argv[6]);
  std::vector<Answer> answers;
  std::vector<TokenId> end_tokens;
  int vocab = 0;
  {
    LlmOptions options;
    options.model = argv[1];
    options.max_model_len = kContext;
    HUNCH_ASSIGN_OR_RETURN(const auto llm, Llm::Load(options));
    HUNCH_ASSIGN_OR_RETURN(answers,
                           AnswerAll(*llm, argv[3], argv[4], std::stoul(argv[5]), temperature));
    end_tokens = llm->tokenizer().end_tokens();
    vocab = llm->tokenizer().vocab_size();
  }
  ThreadPool pool(AvailableCpus());
  HUNCH_ASSIGN_OR_RETURN(std::shared_ptr<const GgufFile> file, GgufFile::Open(argv[2]));
  HUNCH_ASSIGN_OR_RETURN(const auto model,
                         Model::Load(file, pool, {.max_rows = 256, .max_logit_rows = 1}));
  constexpr int kBlocks = kContext / kSlotsPerBlock;
  HUNCH_ASSIGN_OR_RETURN(ModelKv kv, ModelKv::Create(model->config(), KvType::kF16, kBlocks));
  ModelTarget target(*model, std::move(kv));
  BlockPool blocks(kBlocks);
  DraftModel draft_model(target, blocks, vocab, kContext, end_tokens);
  NgramDrafter ngram((NgramOptions()));
  fmt::print("hunch acceptance trace 1\ntemperature {}\ndrafters ngram draft_model\n", temperature);
  for (const Answer& answer : answers) {
    HUNCH_RETURN_IF_ERROR(Record(answer, temperature, ngram, draft_model));
  }
  return Ok{};
}

}  // namespace
}  // namespace hunch

int main(int argc, char** argv) {
  if (argc != 7) {
    fmt::print(stderr,
               "usage: record_trace TARGET.gguf DRAFT.gguf PROMPTS.jsonl CATEGORY POSITIONS "
               "TEMPERATURE\n");
    return 2;
  }
  const hunch::Status status = hunch::Run(argv);
  if (!status.ok()) fmt::print(stderr, "record_trace: {}\n", status.error().message);
  return status.ok() ? 0 : 1;
}
