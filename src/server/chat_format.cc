// The objects chat.completion and chat.completion.chunk.
#include "server/answer_format.h"

namespace hunch {
namespace {

class ChatFormat : public AnswerFormat {
 public:
  ChatFormat(AnswerHead head, const Tokenizer& tokenizer, bool logprobs)
      : AnswerFormat(std::move(head)), tokenizer_(tokenizer), logprobs_(logprobs) {}

  Json Whole(const std::vector<ChoiceOutput>& outputs) const override {
    Json choices = Json::array();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const RequestOutput& output = outputs[i].output;
      choices.push_back(
          {{"index", i},
           {"message", {{"role", "assistant"}, {"content", output.text}, {"refusal", nullptr}}},
           {"logprobs", LogprobsJson(outputs[i].logprobs)},
           {"finish_reason", FinishReasonName(output.finish_reason)}});
    }
    return Object("chat.completion", std::move(choices));
  }
  Json First(int choice) override {
    return Choice(choice, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
  }
  Json Delta(int choice, const TextDelta& delta) override {
    std::vector<TokenChoice> tokens;
    if (delta.choice) tokens.push_back(*delta.choice);
    return Choice(choice, {{"content", delta.text}}, LogprobsJson(tokens), nullptr);
  }
  Json Last(int choice, FinishReason reason) override {
    return Choice(choice, Json::object(), nullptr, FinishReasonName(reason));
  }

 private:
  Json Chunk(Json choices) const override {
    return Object("chat.completion.chunk", std::move(choices));
  }
  Json Choice(int index, Json delta, Json logprobs, Json finish_reason) const {
    Json choices = Json::array();
    choices.push_back({{"index", index},
                       {"delta", std::move(delta)},
                       {"logprobs", std::move(logprobs)},
                       {"finish_reason", std::move(finish_reason)}});
    return Chunk(std::move(choices));
  }

  Json TokenJson(TokenId token, float logprob) const {
    const std::string_view bytes = tokenizer_.TokenBytes(token);
    Json list = Json::array();
    for (const char byte : bytes) list.push_back(static_cast<uint8_t>(byte));
    return {{"token", bytes}, {"logprob", JsonLogprob(logprob)}, {"bytes", std::move(list)}};
  }
  Json LogprobsJson(const std::vector<TokenChoice>& tokens) const {
    if (!logprobs_) return nullptr;
    Json content = Json::array();
    for (const TokenChoice& choice : tokens) {
      Json entry = TokenJson(choice.token, choice.logprob);
      entry["top_logprobs"] = Json::array();
      for (const TokenLogprob& top : choice.top) {
        entry["top_logprobs"].push_back(TokenJson(top.token, top.logprob));
      }
      content.push_back(std::move(entry));
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }

  const Tokenizer& tokenizer_;
  bool logprobs_;
};

}  // namespace

std::unique_ptr<AnswerFormat> MakeChatFormat(AnswerHead head, const Tokenizer& tokenizer,
                                             bool logprobs) {
  return std::make_unique<ChatFormat>(std::move(head), tokenizer, logprobs);
}

}  // namespace hunch
