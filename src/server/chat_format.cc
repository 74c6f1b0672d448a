// The objects chat.completion and chat.completion.chunk.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/fnv.h"
#include "server/answer_format.h"

namespace hunch {
namespace {

using Kind = ToolCallPiece::Kind;

// A message's content and calls, from the pieces.
struct Said {
  std::string content;
  Json calls = Json::array();
};

class ChatFormat : public AnswerFormat {
 public:
  ChatFormat(AnswerHead head, const Tokenizer& tokenizer, bool logprobs,
             std::optional<AnswerTools> tools)
      : AnswerFormat(std::move(head)),
        tokenizer_(tokenizer),
        logprobs_(logprobs),
        tools_(std::move(tools)) {}

  Json Whole(const std::vector<ChoiceOutput>& outputs) const override {
    Json choices = Json::array();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const RequestOutput& output = outputs[i].output;
      Json message = {{"role", "assistant"}, {"content", output.text}, {"refusal", nullptr}};
      std::string_view reason = FinishReasonName(output.finish_reason);
      if (tools_) {
        ToolCallParser parser(tools_->calls);
        Said said = Read(parser, static_cast<int>(i), output.text);
        message["content"] = said.content.empty() ? Json(nullptr) : Json(said.content);
        if (!said.calls.empty()) message["tool_calls"] = std::move(said.calls);
        reason = ReasonName(output.finish_reason, parser);
      }
      choices.push_back({{"index", i},
                         {"message", std::move(message)},
                         {"logprobs", LogprobsJson(outputs[i].logprobs)},
                         {"finish_reason", reason}});
    }
    return Object("chat.completion", std::move(choices));
  }
  std::vector<Json> First(int choice) override {
    // Whether there will be content is not known yet where there may be calls.
    const Json content = tools_ ? Json(nullptr) : Json("");
    std::vector<Json> chunks;
    chunks.push_back(Choice(choice, {{"role", "assistant"}, {"content", content}}));
    if (tools_) AddPieces(choice, ParserOf(choice).Push(tools_->answer_start), chunks);
    return chunks;
  }
  std::vector<Json> Delta(int choice, const TextDelta& delta) override {
    std::vector<Json> chunks;
    if (tools_) {
      AddPieces(choice, ParserOf(choice).Push(delta.text), chunks);
    } else {
      chunks.push_back(Choice(choice, {{"content", delta.text}}));
    }
    if (!logprobs_ || !delta.choice) return chunks;
    // Its text may be held back; the token is told of now.
    if (chunks.empty()) chunks.push_back(Choice(choice, Json::object()));
    chunks[0]["choices"][0]["logprobs"] = LogprobsJson({*delta.choice});
    return chunks;
  }
  std::vector<Json> Last(int choice, FinishReason reason) override {
    std::vector<Json> chunks;
    std::string_view name = FinishReasonName(reason);
    if (tools_) {
      ToolCallParser& parser = ParserOf(choice);
      AddPieces(choice, parser.Finish(), chunks);
      name = ReasonName(reason, parser);
    }
    chunks.push_back(Choice(choice, Json::object()));
    chunks.back()["choices"][0]["finish_reason"] = name;
    return chunks;
  }

 private:
  Json Chunk(Json choices) const override {
    return Object("chat.completion.chunk", std::move(choices));
  }
  Json Choice(int index, Json delta) const {
    Json choices = Json::array();
    choices.push_back({{"index", index},
                       {"delta", std::move(delta)},
                       {"logprobs", nullptr},
                       {"finish_reason", nullptr}});
    return Chunk(std::move(choices));
  }

  ToolCallParser& ParserOf(int choice) {
    return parsers_.try_emplace(choice, tools_->calls).first->second;
  }
  void AddPieces(int choice, const std::vector<ToolCallPiece>& pieces,
                 std::vector<Json>& chunks) const {
    for (const ToolCallPiece& piece : pieces) {
      if (piece.kind == Kind::kContent) {
        chunks.push_back(Choice(choice, {{"content", piece.text}}));
        continue;
      }
      Json call;
      if (piece.kind == Kind::kName) {
        call = CallJson(choice, piece.call, piece.text);
      } else {
        call["function"] = {{"arguments", piece.text}};
      }
      call["index"] = piece.call;
      Json calls = Json::array();
      calls.push_back(std::move(call));
      chunks.push_back(Choice(choice, {{"tool_calls", std::move(calls)}}));
    }
  }
  Said Read(ToolCallParser& parser, int choice, std::string_view text) const {
    Said said;
    const auto add = [&](const std::vector<ToolCallPiece>& pieces) {
      for (const ToolCallPiece& piece : pieces) {
        if (piece.kind == Kind::kContent) {
          said.content += piece.text;
        } else if (piece.kind == Kind::kName) {
          said.calls.push_back(CallJson(choice, piece.call, piece.text));
        } else {
          said.calls.back()["function"]["arguments"].get_ref<std::string&>() += piece.text;
        }
      }
    };
    add(parser.Push(tools_->answer_start));
    add(parser.Push(text));
    add(parser.Finish());
    return said;
  }
  // Without arguments yet. The id follows from the request's, so that it is the same in a stream
  // that is resumed.
  Json CallJson(int choice, int call, std::string_view name) const {
    const uint64_t hash = Fnv64(fmt::format("{}/{}/{}", head().id, choice, call));
    return {{"id", fmt::format("call_{:016x}", hash)},
            {"type", "function"},
            {"function", {{"name", name}, {"arguments", ""}}}};
  }
  // A call that was cut is none that the client can do.
  static std::string_view ReasonName(FinishReason reason, const ToolCallParser& parser) {
    const bool calls = reason == FinishReason::kStop && parser.calls() > 0 && !parser.cut();
    return calls ? "tool_calls" : FinishReasonName(reason);
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
  std::optional<AnswerTools> tools_;
  std::map<int, ToolCallParser> parsers_;  // of a stream, by choice
};

}  // namespace

std::unique_ptr<AnswerFormat> MakeChatFormat(AnswerHead head, const Tokenizer& tokenizer,
                                             bool logprobs, std::optional<AnswerTools> tools) {
  return std::make_unique<ChatFormat>(std::move(head), tokenizer, logprobs, std::move(tools));
}

}  // namespace hunch
