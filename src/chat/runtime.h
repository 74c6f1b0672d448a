// Runtime: the bounds, the failure and the making of values of one rendering. Confined to one
// thread. Failing is sticky: the first failure is kept, functions then return undefined values, and
// whoever loops looks at Spend() or failed(). Nothing that was computed after a failure is ever
// seen.
#ifndef HUNCH_CHAT_RUNTIME_H_
#define HUNCH_CHAT_RUNTIME_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "chat/value.h"

namespace hunch::chat {

// A 10-turn chat takes a few thousand steps and some kB; these bounds leave room for a full context
// of text and keep a hostile template to about a second and to memory that a server can spare.
struct RenderLimits {
  static constexpr size_t kSteps = 5'000'000;
  static constexpr size_t kBytes = size_t{256} << 20;  // made in total, freed or not
  static constexpr size_t kOutputBytes = size_t{32} << 20;
  static constexpr int kCallDepth = 600;      // evaluations inside each other
  static constexpr int kValueDepth = 200;     // containers inside each other
  static constexpr int64_t kRange = 100'000;  // jinja2's sandbox has the same
};

class Runtime {
 public:
  explicit Runtime(int64_t now_unix_seconds) : now_(now_unix_seconds) {}
  // Namespaces may refer to each other in circles: they die together, emptied first.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Records the failure with the current line; always returns undefined.
  Value Fail(std::string_view message, ErrorCode code = ErrorCode::kInvalidArgument);
  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }

  // Pays for work done; false once anything failed.
  bool Spend(size_t steps);
  // Pays for a search of `needle` bytes in `text` bytes: the library's search compares naively,
  // which a hostile text can make it do at every place.
  bool SpendSearch(size_t text, size_t needle) {
    return Spend(1 + text / 16 + text / 64 * (needle / 64));
  }
  // Pays for memory; false once anything failed.
  bool SpendBytes(size_t bytes);

  Value MakeString(Text text);
  // A string whose whole text came from the request if `from_request`.
  Value MakeString(std::string text, bool from_request);
  Value MakeList(std::vector<Value> items, ListKind kind = ListKind::kList);
  Value MakeDict(std::vector<std::pair<Value, Value>> entries);
  Namespace* MakeNamespace();
  Loop* MakeLoop();

  int64_t now() const { return now_; }
  int line() const { return line_; }
  void set_line(int line) { line_ = line; }

 private:
  bool CheckDepth(int depth);

  int64_t now_;
  int line_ = 1;
  size_t steps_ = 0;
  size_t bytes_ = 0;
  std::optional<Error> error_;
  std::deque<Namespace> namespaces_;  // addresses stay
  std::deque<Loop> loops_;
};

// What a for statement, a filter or an unpacking runs over. Fails for what Python cannot iterate.
// Undefined gives nothing, as in jinja2; strings their code points; dicts their keys.
std::vector<Value> Iterate(Runtime& runtime, const Value& value);

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_RUNTIME_H_
