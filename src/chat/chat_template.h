// Chat templates: the Jinja that models' templates use, as a bounded interpreter.
// A ChatTemplate is immutable and thread safe once parsed. Templates are hostile input: work, depth
// and output are bounded, errors are values.
#ifndef HUNCH_CHAT_CHAT_TEMPLATE_H_
#define HUNCH_CHAT_CHAT_TEMPLATE_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hunch {

// Rendered text, cut so that text that came from the request (message contents, tools, ...) is told
// from the template's own: only the latter may name special tokens.
struct RenderedPiece {
  std::string text;
  bool from_template;
};

struct ChatInputs {
  nlohmann::ordered_json messages;  // array of {"role", "content", ...}
  nlohmann::ordered_json tools;     // null or array
  bool add_generation_prompt = true;
  std::string bos_token, eos_token;
  nlohmann::ordered_json extra;   // null or object: further variables
  int64_t now_unix_seconds = -1;  // strftime_now's clock; -1: the system's
};

class ChatTemplate {
 public:
  // kBadFile / kUnsupported with line number and construct.
  static Result<std::unique_ptr<ChatTemplate>> Parse(std::string_view source);
  virtual ~ChatTemplate() = default;
  // raise_exception, unknown names called as functions, and exceeded bounds are errors.
  virtual Result<std::vector<RenderedPiece>> Render(const ChatInputs& inputs) const = 0;
};

// The pieces joined.
std::string JoinPieces(const std::vector<RenderedPiece>& pieces);

}  // namespace hunch

#endif  // HUNCH_CHAT_CHAT_TEMPLATE_H_
