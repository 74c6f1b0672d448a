// The object text_completion, whole and in a stream.
#include <cmath>
#include <map>

#include "base/utf8.h"
#include "server/answer_format.h"

namespace hunch {
namespace {

int64_t Characters(std::string_view text) {
  int64_t count = 0;
  for (size_t position = 0; position < text.size(); ++count) {
    position += DecodeUtf8(text, position).length;
  }
  return count;
}

// Where the next token's text begins.
struct Place {
  int64_t offset = 0;  // in characters
  StreamDecoder decoder;
};

class CompletionFormat : public AnswerFormat {
 public:
  CompletionFormat(AnswerHead head, const Tokenizer& tokenizer, bool logprobs,
                   std::vector<std::string> echoes)
      : AnswerFormat(std::move(head)),
        tokenizer_(tokenizer),
        logprobs_(logprobs),
        echoes_(std::move(echoes)) {}

  Json Whole(const std::vector<ChoiceOutput>& outputs) const override {
    Json choices = Json::array();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const RequestOutput& output = outputs[i].output;
      std::vector<TokenChoice> tokens;
      if (output.prompt_logprobs) tokens = *output.prompt_logprobs;
      tokens.insert(tokens.end(), outputs[i].logprobs.begin(), outputs[i].logprobs.end());
      Place place;
      choices.push_back(Choice(static_cast<int>(i), Echo(i) + output.text,
                               LogprobsJson(tokens, place),
                               FinishReasonName(output.finish_reason)));
    }
    return Chunk(std::move(choices));
  }
  std::vector<Json> First(int choice) override {
    // With logprobs it comes with the first delta, which has them.
    if (echoes_.empty() || logprobs_) return {};
    return {One(Choice(choice, Echo(static_cast<size_t>(choice)), nullptr, nullptr))};
  }
  std::vector<Json> Delta(int choice, const TextDelta& delta) override {
    std::vector<Json> chunks;
    Place& place = places_[choice];
    if (delta.prompt_logprobs) {
      Json logprobs = LogprobsJson(*delta.prompt_logprobs, place);
      chunks.push_back(
          One(Choice(choice, Echo(static_cast<size_t>(choice)), std::move(logprobs), nullptr)));
    }
    std::vector<TokenChoice> tokens;
    if (delta.choice) tokens.push_back(*delta.choice);
    chunks.push_back(One(Choice(choice, delta.text, LogprobsJson(tokens, place), nullptr)));
    return chunks;
  }
  std::vector<Json> Last(int choice, FinishReason reason) override {
    return {One(Choice(choice, "", nullptr, FinishReasonName(reason)))};
  }

 private:
  Json Chunk(Json choices) const override { return Object("text_completion", std::move(choices)); }
  Json One(Json choice) const {
    Json choices = Json::array();
    choices.push_back(std::move(choice));
    return Chunk(std::move(choices));
  }
  static Json Choice(int index, std::string_view text, Json logprobs, Json finish_reason) {
    return {{"index", index},
            {"text", text},
            {"logprobs", std::move(logprobs)},
            {"finish_reason", std::move(finish_reason)}};
  }
  std::string Echo(size_t choice) const { return echoes_.empty() ? "" : echoes_[choice]; }

  // `place`: of the first of these tokens; moved past them.
  Json LogprobsJson(const std::vector<TokenChoice>& tokens, Place& place) const {
    if (!logprobs_) return nullptr;
    Json json = {{"text_offset", Json::array()},
                 {"token_logprobs", Json::array()},
                 {"tokens", Json::array()},
                 {"top_logprobs", Json::array()}};
    for (const TokenChoice& choice : tokens) {
      // As valid UTF-8, since one of its uses here is as a key.
      const std::string text = Text(choice.token);
      json["text_offset"].push_back(place.offset);
      json["tokens"].push_back(text);
      place.offset += Characters(place.decoder.Push(tokenizer_.TokenBytes(choice.token)));
      if (std::isnan(choice.logprob)) {
        json["token_logprobs"].push_back(nullptr);
        json["top_logprobs"].push_back(nullptr);
        continue;
      }
      json["token_logprobs"].push_back(JsonLogprob(choice.logprob));
      Json top = Json::object();
      for (const TokenLogprob& other : choice.top) {
        top[Text(other.token)] = JsonLogprob(other.logprob);
      }
      top[text] = JsonLogprob(choice.logprob);
      json["top_logprobs"].push_back(std::move(top));
    }
    return json;
  }
  std::string Text(TokenId token) const { return DecodeTokens(tokenizer_, {&token, 1}); }

  const Tokenizer& tokenizer_;
  bool logprobs_;
  std::vector<std::string> echoes_;
  std::map<int, Place> places_;  // of a stream, by choice
};

}  // namespace

std::unique_ptr<AnswerFormat> MakeCompletionFormat(AnswerHead head, const Tokenizer& tokenizer,
                                                   bool logprobs, std::vector<std::string> echoes) {
  return std::make_unique<CompletionFormat>(std::move(head), tokenizer, logprobs,
                                            std::move(echoes));
}

}  // namespace hunch
