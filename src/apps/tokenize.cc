// hunch tokenize and hunch detokenize: lines of JSON for programs, listings for people. The model's
// weights are not read.
#include <fmt/format.h>

#include <cctype>
#include <limits>

#include "apps/commands.h"
#include "apps/numbers.h"
#include "apps/read_text.h"
#include "session/json_text.h"

namespace hunch {
namespace {

Error Wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

// Answers every line of standard input with a line, at once: the other side may be waiting for it.
template <typename AnswerLine>
Result<int> AnswerLines(Context& context, AnswerLine&& answer) {
  std::string line;
  for (int64_t number = 1;; ++number) {
    const auto fail = [&](const Error& error) {
      return Error{error.code, fmt::format("line {}: {}", number, error.message)};
    };
    const Result<bool> read = ReadLine(context.console.in, line);
    if (!read.ok()) return fail(read.error());
    if (!*read) break;
    Result<Json> reply = answer(line);
    if (!reply.ok()) return fail(reply.error());
    if (!(context.console.out << DumpJson(*reply) << '\n' << std::flush)) break;
  }
  return kExitOk;
}

Result<Json> TokenizeLine(const Tokenizer& tokenizer, std::string_view line) {
  HUNCH_ASSIGN_OR_RETURN(const Json request, ParseJsonObject(line));
  const std::string* text = nullptr;
  bool parse_special = false;
  for (const auto& [key, value] : request.items()) {
    if (key == "text" && value.is_string()) {
      text = value.get_ptr<const std::string*>();
    } else if (key == "parse_special" && value.is_boolean()) {
      parse_special = value.get<bool>();
    } else if (key == "text" || key == "parse_special") {
      return Wrong(fmt::format("\"{}\" must be {}, not {}", key,
                               key == "text" ? "a string" : "true or false", JsonKind(value)));
    } else {
      return Wrong(fmt::format("unknown key \"{}\"; known keys: text, parse_special", key));
    }
  }
  if (text == nullptr) return Wrong("\"text\" is missing");
  return Json{{"ids", tokenizer.Encode(*text, parse_special)}};
}

Result<std::string> Decode(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  for (const TokenId id : ids) {
    if (id >= 0 && id < tokenizer.vocab_size()) continue;
    return Wrong(
        fmt::format("token id {} is outside the vocabulary of {}", id, tokenizer.vocab_size()));
  }
  return DecodeTokens(tokenizer, ids);
}

Result<Json> DetokenizeLine(const Tokenizer& tokenizer, std::string_view line) {
  HUNCH_ASSIGN_OR_RETURN(const Json request, ParseJsonObject(line));
  const auto ids = request.find("ids");
  if (ids == request.end() || !ids->is_array()) {
    return Wrong("\"ids\" must be an array of token ids");
  }
  if (request.size() != 1) return Wrong("unknown key; the only known one is ids");
  std::vector<TokenId> tokens;
  for (const Json& id : *ids) {
    int token = 0;
    if (!id.is_number_integer()) return Wrong("\"ids\" must be an array of whole numbers");
    HUNCH_RETURN_IF_ERROR(ReadInt(id.dump(), 0, tokenizer.vocab_size() - 1, token));
    tokens.push_back(token);
  }
  HUNCH_ASSIGN_OR_RETURN(std::string text, Decode(tokenizer, tokens));
  return Json{{"text", std::move(text)}};
}

// Ids given as words or on standard input, between spaces or commas.
Result<std::vector<TokenId>> ParseIds(std::string_view text) {
  std::vector<TokenId> ids;
  const auto separates = [](char c) {
    return c == ',' || std::isspace(static_cast<unsigned char>(c));
  };
  for (size_t begin = 0; begin < text.size();) {
    if (separates(text[begin])) {
      ++begin;
      continue;
    }
    size_t end = begin;
    while (end < text.size() && !separates(text[end])) ++end;
    int id = 0;
    HUNCH_RETURN_IF_ERROR(
        ReadInt(text.substr(begin, end - begin), 0, std::numeric_limits<int>::max(), id));
    ids.push_back(id);
    begin = end;
  }
  return ids;
}

}  // namespace

Result<int> TokenizeCommand(const Flags& flags, Context& context) {
  if (flags.json && (!flags.words.empty() || flags.parse_special)) {
    return Wrong("--json reads its texts from standard input");
  }
  HUNCH_ASSIGN_OR_RETURN(const OpenedTokenizer opened, context.open_tokenizer(flags.model));
  const Tokenizer& tokenizer = *opened.tokenizer;
  if (flags.json) {
    return AnswerLines(context,
                       [&](std::string_view line) { return TokenizeLine(tokenizer, line); });
  }
  std::string text;
  if (flags.words.empty()) {
    HUNCH_ASSIGN_OR_RETURN(text, ReadText(context.console.in));
  } else {
    text = flags.words[0];
  }
  for (const TokenId id : tokenizer.Encode(text, flags.parse_special)) {
    context.console.out << fmt::format("{:>8}  {}\n", id,
                                       DumpJson(Json(std::string(tokenizer.TokenBytes(id)))));
  }
  return kExitOk;
}

Result<int> DetokenizeCommand(const Flags& flags, Context& context) {
  if (flags.json && !flags.words.empty()) return Wrong("--json reads its ids from standard input");
  HUNCH_ASSIGN_OR_RETURN(const OpenedTokenizer opened, context.open_tokenizer(flags.model));
  const Tokenizer& tokenizer = *opened.tokenizer;
  if (flags.json) {
    return AnswerLines(context,
                       [&](std::string_view line) { return DetokenizeLine(tokenizer, line); });
  }
  std::string text;
  for (const std::string& word : flags.words) text += word + ' ';
  if (flags.words.empty()) {
    HUNCH_ASSIGN_OR_RETURN(text, ReadText(context.console.in));
  }
  HUNCH_ASSIGN_OR_RETURN(const std::vector<TokenId> ids, ParseIds(text));
  HUNCH_ASSIGN_OR_RETURN(const std::string decoded, Decode(tokenizer, ids));
  context.console.out << decoded;
  if (context.console.out_tty) context.console.out << '\n';
  return kExitOk;
}

}  // namespace hunch
