#include "support/fake_llm.h"

namespace hunch {
namespace {

constexpr std::string_view kEndText = "<end>";

}  // namespace

ByteTokenizer::ByteTokenizer() {
  for (int byte = 0; byte < 256; ++byte) bytes_.emplace_back(1, static_cast<char>(byte));
  bytes_.emplace_back(kEndText);
}

std::vector<TokenId> ByteTokenizer::Encode(std::string_view text, bool parse_special) const {
  std::vector<TokenId> ids;
  while (!text.empty()) {
    if (parse_special && text.starts_with(kEndText)) {
      ids.push_back(kEnd);
      text.remove_prefix(kEndText.size());
    } else {
      ids.push_back(static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
    }
  }
  return ids;
}

std::vector<TokenId> ByteTokenizer::EncodePieces(std::span<const TextPiece> pieces) const {
  std::vector<TokenId> ids;
  for (const TextPiece& piece : pieces) {
    for (const TokenId id : Encode(piece.text, piece.parse_special)) ids.push_back(id);
  }
  return ids;
}

std::string_view ByteTokenizer::TokenBytes(TokenId token) const {
  if (token < 0 || token >= vocab_size()) return "";
  return bytes_[static_cast<size_t>(token)];
}

std::string FakeLlm::Text(std::span<const TokenId> tokens) const {
  std::string text;
  for (const TokenId token : tokens) text += tokenizer_.TokenBytes(token);
  return text;
}

Result<std::vector<TokenId>> FakeLlm::EncodeChat(const nlohmann::ordered_json& messages) const {
  if (!script_.has_chat_template) {
    return Error{ErrorCode::kUnsupported, "no chat template; the reason: use --raw"};
  }
  std::string text;
  for (const auto& message : messages) {
    text +=
        message["role"].get<std::string>() + ": " + message["content"].get<std::string>() + '\n';
  }
  return tokenizer_.Encode(text, false);
}

Result<std::vector<TokenId>> FakeLlm::EncodeRaw(std::string_view text) const {
  return tokenizer_.Encode(text, true);
}

Status FakeLlm::SwapSpeculation(const SpeculativeConfig& config) {
  if (script_.swap_error) return *script_.swap_error;
  calls_->push_back({"", {}, config, true});
  return Ok{};
}

Result<RequestOutput> FakeLlm::Generate(std::span<const TokenId> prompt,
                                        const SamplingParams& params,
                                        const SpeculativeConfig& speculation,
                                        const OnText& on_text) {
  calls_->push_back({Text(prompt), params, speculation, false});
  if (static_cast<int>(prompt.size()) >= script_.max_model_len) {
    return Error{ErrorCode::kInvalidArgument, "the prompt is too long"};
  }
  const auto own = script_.answers.find(calls_->back().prompt);
  std::vector<TokenId> answer =
      tokenizer_.Encode(own == script_.answers.end() ? script_.answer : own->second, false);
  answer.push_back(ByteTokenizer::kEnd);
  if (const auto fault = script_.faults.find(DraftMethodName(speculation.method));
      fault != script_.faults.end()) {
    answer[fault->second] = '#';
  }
  if (script_.faulty_call == calls_->size() - 1) answer[0] = '#';

  const bool speculates = speculation.method != DraftMethod();
  RequestOutput output;
  output.prompt_tokens = static_cast<int64_t>(prompt.size());
  output.finish_reason = FinishReason::kStop;
  output.timings = {load_seconds(), 0.5, 0};
  output.speculation.method = speculation.method;
  for (const TokenId token : answer) {
    const size_t position = output.token_ids.size();
    if (params.max_tokens >= 0 && position == static_cast<size_t>(params.max_tokens)) {
      output.finish_reason = FinishReason::kLength;
      break;
    }
    if (script_.before_token) script_.before_token(position);
    output.token_ids.push_back(token);
    output.guessed.push_back(speculates && script_.guesses_right && position % 2 == 1);
    const std::string text(token == ByteTokenizer::kEnd ? "" : tokenizer_.TokenBytes(token));
    output.text += text;
    if (params.logprobs >= 0) {
      TokenChoice choice{token, -0.5f, {}};
      for (int n = 0; n < params.logprobs; ++n) choice.top.push_back({0x80 + n, -1.0f - n});
      output.logprobs.push_back(choice);
    }
    if (!on_text({text, output.guessed.back()})) {
      output.finish_reason = FinishReason::kCancelled;
      break;
    }
  }

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
  if (speculates) {
    stats.drafts = stats.decode_tokens;
    stats.draft_tokens = 2 * stats.drafts;
    for (const bool guessed : output.guessed) stats.accepted_tokens += guessed ? 1 : 0;
    // A pass of a draft model takes a quarter of one of the target.
    const int64_t passes = speculation.UsesDraftModel() ? stats.draft_tokens : 0;
    stats.drafters = {{.name = "fake", .passes = passes, .seconds = 0.03125 * passes}};
    stats.draft_seconds = stats.drafters[0].seconds;
    stats.accepted_per_position = {stats.accepted_tokens, 0};
    for (const int depth : {0, 1}) stats.places.verified[depth][0] = stats.drafts;
    stats.places.accepted[0][0] = stats.accepted_tokens;
  }
  stats.target_passes = stats.decode_tokens - stats.accepted_tokens;
  output.timings.decode = 0.125 * static_cast<double>(stats.target_passes);
  return output;
}

}  // namespace hunch
