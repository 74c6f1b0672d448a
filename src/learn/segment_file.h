// Segments: the texts that a server keeps to learn from, in files of a folder (docs/formats.md).
// They grow text by text; the oldest file goes when all of them would take more than a cap. A file
// is hostile input: a text counts up to the first one that is cut short or wrong.
#ifndef HUNCH_LEARN_SEGMENT_FILE_H_
#define HUNCH_LEARN_SEGMENT_FILE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "draft/head_file.h"
#include "learn/append_file.h"
#include "learn/feature_rows.h"
#include "learn/learned_text.h"
#include "weights/gguf.h"
#include "weights/mapped_file.h"

namespace hunch {

// What the rows of a folder are: files of others are refused.
struct SegmentKind {
  FeatureLayout layout;
  uint64_t key = 0;  // of the target and the taps
};
SegmentKind SegmentKindOf(const GgufFile& target, const HeadConfig& head);

// A segment's number; none: the file's name is not a segment's.
std::optional<uint32_t> SegmentNumber(std::string_view file_name);

// Not thread safe.
class SegmentWriter {
 public:
  // Makes the folder, for its owner only. Errors: it cannot be written, its segments are of another
  // kind, or another writer has it.
  static Result<SegmentWriter> Open(const std::string& folder, const SegmentKind& kind,
                                    uint64_t cap);

  // A text that alone is over an eighth of the cap is left out.
  Status Add(const LearnedText& text);
  uint64_t bytes() const { return bytes_; }
  int segments() const { return static_cast<int>(there_.size()); }

 private:
  struct Segment {
    uint32_t number;
    uint64_t bytes;
  };

  SegmentWriter(std::string folder, const SegmentKind& kind, uint64_t cap, AppendFile lock)
      : folder_(std::move(folder)), kind_(kind), cap_(cap), lock_(std::move(lock)) {}
  std::string PathOf(uint32_t number) const;
  Status Begin();
  Status DropOldest();

  std::string folder_;
  SegmentKind kind_;
  uint64_t cap_;
  AppendFile lock_;
  std::vector<Segment> there_;  // ascending; the last one is file_'s, if that is open
  std::optional<AppendFile> file_;
  uint64_t bytes_ = 0;  // of there_
  std::vector<std::byte> record_;
};

// The newest texts of a folder, while a writer may go on. Immutable; thread safe.
class SegmentReader {
 public:
  struct Text {
    float temperature;
    uint32_t prompt;
    std::vector<TokenId> tokens;
    std::span<const std::byte> rows;  // [tokens][row_bytes]
  };

  // At most most_rows rows, more only of one text.
  static Result<SegmentReader> Open(const std::string& folder, const SegmentKind& kind,
                                    int vocab_size, int64_t most_rows);
  // What such bytes hold (tests, fuzzing); they must outlive it.
  static std::vector<Text> TextsIn(std::span<const std::byte> bytes, const SegmentKind& kind,
                                   int vocab_size);

  const std::vector<Text>& texts() const { return texts_; }  // the oldest first

 private:
  SegmentReader() = default;

  std::vector<MappedFile> files_;
  std::vector<Text> texts_;
};

}  // namespace hunch

#endif  // HUNCH_LEARN_SEGMENT_FILE_H_
