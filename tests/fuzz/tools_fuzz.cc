// Fuzz target: any bytes as what a model says to tools. The calls found do not depend on how the
// text was cut, and nothing of a text without calls is lost.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "chat/object_scanner.h"
#include "chat/tool_call_parser.h"

namespace {

using hunch::ToolCallParser;
using hunch::ToolCallPiece;
using Kind = ToolCallPiece::Kind;

struct Read {
  std::vector<ToolCallPiece> pieces;  // neighbours joined
  int calls = 0;
  bool cut = false;
};

// In parts of this many bytes; 0: whole.
Read ReadIn(std::string_view text, size_t part, const hunch::ToolCallOptions& options) {
  ToolCallParser parser(options);
  Read read;
  const auto add = [&](std::vector<ToolCallPiece> pieces) {
    for (ToolCallPiece& piece : pieces) {
      HUNCH_CHECK(!piece.text.empty());
      const bool joins = !read.pieces.empty() && read.pieces.back().kind == piece.kind &&
                         read.pieces.back().call == piece.call;
      HUNCH_CHECK(!joins || piece.kind != Kind::kName);
      if (joins) {
        read.pieces.back().text += piece.text;
      } else {
        read.pieces.push_back(std::move(piece));
      }
    }
  };
  while (part > 0 && text.size() > part) {
    add(parser.Push(text.substr(0, part)));
    text.remove_prefix(part);
  }
  add(parser.Push(text));
  add(parser.Finish());
  read.calls = parser.calls();
  read.cut = parser.cut();
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const hunch::ToolCallOptions options = {.names = {"f", "g"},
                                          .most_calls = size % 3 == 0 ? 1 : 1000};
  const Read whole = ReadIn(text, 0, options);
  for (const size_t part : {size_t{1}, 1 + size % 7, 1 + size / 2}) {
    const Read cut = ReadIn(text, part, options);
    HUNCH_CHECK(cut.pieces == whole.pieces && cut.cut == whole.cut) << part;
  }
  int names = 0;
  std::string content;
  for (const ToolCallPiece& piece : whole.pieces) {
    if (piece.kind == Kind::kContent) content += piece.text;
    if (piece.kind == Kind::kName) ++names;
    HUNCH_CHECK(piece.kind == Kind::kContent || piece.call == names - 1);
  }
  HUNCH_CHECK_EQ(names, whole.calls);
  HUNCH_CHECK(names <= options.most_calls);
  HUNCH_CHECK(names > 0 || content == text);
  (void)hunch::IsJsonObject(text);
  return 0;
}
