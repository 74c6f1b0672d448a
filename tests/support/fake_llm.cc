#include "support/fake_llm.h"

#include <limits>

namespace hunch {
namespace {

TokenChoice MakeChoice(TokenId token, float logprob, int top) {
  TokenChoice choice{token, logprob, {}};
  for (int n = 0; n < top; ++n) choice.top.push_back({0x80 + n, -1.0f - n});
  return choice;
}

}  // namespace

std::string FakeLlm::Text(std::span<const TokenId> tokens) const {
  std::string text;
  for (const TokenId token : tokens) text += tokenizer_.TokenBytes(token);
  return text;
}

Result<std::vector<TokenId>> FakeLlm::EncodeChatTurn(const nlohmann::ordered_json& messages,
                                                     const ChatTurn& turn) const {
  if (!script_.has_chat_template) {
    return Error{ErrorCode::kUnsupported, "no chat template; the reason: use --raw"};
  }
  if (!turn.tools.empty() && !script_.has_tools) {
    return Error{ErrorCode::kUnsupported, "tools have no place in the template"};
  }
  script_.nows->push_back(turn.now);
  std::string text;
  if (!turn.tools.empty()) {
    text = "tools:";
    for (const auto& tool : turn.tools) {
      text += ' ' + tool["function"]["name"].get<std::string>();
    }
    text += '\n';
  }
  for (const auto& message : messages) {
    text +=
        message["role"].get<std::string>() + ": " + message["content"].get<std::string>() + '\n';
  }
  return tokenizer_.Encode(text + turn.answer_start, false);
}

Result<std::vector<TokenId>> FakeLlm::EncodeRaw(std::string_view text) const {
  return tokenizer_.Encode(text, true);
}

Result<std::unique_ptr<PreparedSwap>> FakeLlm::PrepareSwap(const SpeculativeConfig& config) {
  if (script_.swap_error) return *script_.swap_error;
  return std::make_unique<PreparedSwap>(config);
}

void FakeLlm::Swap(std::unique_ptr<PreparedSwap> swap) {
  calls_->push_back({"", {}, swap->config, true});
}

Status FakeLlm::SwapSpeculation(const SpeculativeConfig& config) {
  HUNCH_ASSIGN_OR_RETURN(auto swap, PrepareSwap(config));
  Swap(std::move(swap));
  return Ok{};
}

Status FakeLlm::CheckStructuredOutput(const StructuredOutput& wanted) const {
  const auto grammar = grammars_->Compile(wanted);
  if (!grammar.ok()) return grammar.error();
  return Ok{};
}

bool FakeLlm::Obeys(const StructuredOutput& wanted, std::string_view text) const {
  const auto grammar = grammars_->Compile(wanted);
  return grammar.ok() && hunch::Obeys(**grammar, tokenizer_.Encode(text, false));
}

Status FakeLlm::Check(const TextRequest& request) const {
  if (static_cast<int>(request.prompt.size()) < script_.max_model_len) return Ok{};
  return Error{ErrorCode::kInvalidArgument, "the prompt is too long"};
}

FakeLlm::Answer FakeLlm::Begin(const TextRequest& request) {
  const std::string prompt = Text(request.prompt);
  const std::string method = DraftMethodName(request.speculation.method);
  Answer answer;
  answer.params = request.params;
  const auto own = script_.answers.find(prompt);
  answer.tokens =
      tokenizer_.Encode(own == script_.answers.end() ? script_.answer : own->second, false);
  answer.tokens.push_back(ByteTokenizer::kEnd);
  if (const auto fault = script_.faults.find(method); fault != script_.faults.end()) {
    answer.tokens[fault->second] = '#';
  }
  if (script_.faulty_call == calls_->size() - 1) answer.tokens[0] = '#';
  if (request.params.prompt_logprobs >= 0) {
    std::vector<TokenChoice> choices;
    for (const TokenId token : request.prompt) {
      choices.push_back(MakeChoice(token, -0.25f, request.params.prompt_logprobs));
    }
    choices[0] = {request.prompt[0], std::numeric_limits<float>::quiet_NaN(), {}};
    answer.output.prompt_logprobs =
        std::make_shared<const std::vector<TokenChoice>>(std::move(choices));
  }
  answer.output.prompt_tokens = static_cast<int64_t>(request.prompt.size());
  answer.output.finish_reason = FinishReason::kStop;
  answer.output.timings = {load_seconds(), 0.5, 0};
  answer.output.speculation.method = request.speculation.method;
  return answer;
}

bool FakeLlm::Advance(Answer& answer) {
  RequestOutput& output = answer.output;
  const SamplingParams& params = answer.params;
  const size_t position = output.token_ids.size();
  if (position == answer.tokens.size()) return false;
  if (params.max_tokens >= 0 && position == static_cast<size_t>(params.max_tokens)) {
    output.finish_reason = FinishReason::kLength;
    return false;
  }
  if (script_.before_token) script_.before_token(position);
  const TokenId token = answer.tokens[position];
  const bool speculates = output.speculation.method != DraftMethod();
  output.token_ids.push_back(token);
  output.guessed.push_back(speculates && script_.guesses_right && position % 2 == 1);
  const bool is_text = token != ByteTokenizer::kEnd;
  TextDelta delta = {is_text ? std::string(tokenizer_.TokenBytes(token)) : "",
                     output.guessed.back()};
  output.text += delta.text;
  if (position == 0) delta.prompt_logprobs = output.prompt_logprobs;
  if (params.logprobs >= 0) {
    const TokenChoice choice = MakeChoice(token, -0.5f, params.logprobs);
    output.logprobs.push_back(choice);
    if (is_text) delta.choice = choice;
  }
  if (!answer.on_text || answer.on_text(delta)) return true;
  output.finish_reason = FinishReason::kCancelled;
  return false;
}

void FakeLlm::Close(Answer& answer, const SpeculativeConfig& speculation) {
  RequestOutput& output = answer.output;
  std::string setting = DraftMethodName(speculation.method);
  if (speculation.num_speculative_tokens > 0) {
    setting += ":" + std::to_string(speculation.num_speculative_tokens);
  }
  if (const auto own = script_.seconds.find(setting); own != script_.seconds.end()) {
    if (script_.on_seconds) script_.on_seconds(own->second);
  }
  const auto tokens = static_cast<int64_t>(output.token_ids.size());
  SpeculationStats& stats = output.speculation;
  stats.decode_tokens = tokens > 0 ? tokens - 1 : 0;
  if (speculation.method != DraftMethod()) {
    stats.drafts = stats.decode_tokens;
    stats.draft_tokens = 2 * stats.drafts;
    for (const bool guessed : output.guessed) stats.accepted_tokens += guessed ? 1 : 0;
    // A pass of a draft model takes a quarter of one of the target.
    const int64_t passes = speculation.UsesModel() ? stats.draft_tokens : 0;
    stats.drafters = {{.name = "fake", .passes = passes, .seconds = 0.03125 * passes}};
    stats.draft_seconds = stats.drafters[0].seconds;
    stats.accepted_per_position = {stats.accepted_tokens, 0};
    for (const int depth : {0, 1}) stats.places.verified[depth][0] = stats.drafts;
    stats.places.accepted[0][0] = stats.accepted_tokens;
  }
  stats.target_passes = stats.decode_tokens - stats.accepted_tokens;
  output.timings.decode = 0.125 * static_cast<double>(stats.target_passes);
}

Result<RequestOutput> FakeLlm::Generate(std::span<const TokenId> prompt,
                                        const SamplingParams& params,
                                        const SpeculativeConfig& speculation,
                                        const OnText& on_text) {
  const TextRequest request = {{prompt.begin(), prompt.end()}, params, speculation};
  calls_->push_back({Text(prompt), params, speculation, false});
  HUNCH_RETURN_IF_ERROR(Check(request));
  Answer answer = Begin(request);
  answer.on_text = on_text;
  while (Advance(answer)) {
  }
  Close(answer, speculation);
  return std::move(answer.output);
}

Result<RequestId> FakeLlm::Start(TextRequest request, OnText on_text, OnDone on_done) {
  calls_->push_back({Text(request.prompt), request.params, request.speculation, false});
  if (script_.start_error) return *script_.start_error;
  auto answer = std::make_unique<Answer>(Begin(request));
  answer->id = next_id_++;
  answer->on_text = std::move(on_text);
  answer->on_done = [this, own = answer.get(), speculation = request.speculation,
                     on_done = std::move(on_done)](RequestOutput) {
    Close(*own, speculation);
    on_done(std::move(own->output));
  };
  running_.push_back(std::move(answer));
  return running_.back()->id;
}

bool FakeLlm::Step() {
  if (running_.empty()) return false;
  std::vector<std::unique_ptr<Answer>> over;
  for (auto& answer : running_) {
    if (answer->cancelled) answer->output.finish_reason = FinishReason::kCancelled;
    if (answer->cancelled || !Advance(*answer)) over.push_back(std::move(answer));
  }
  std::erase(running_, nullptr);
  for (const auto& answer : over) answer->on_done({});
  return true;
}

void FakeLlm::Cancel(RequestId id) {
  for (auto& answer : running_) answer->cancelled |= answer->id == id;
}

}  // namespace hunch
