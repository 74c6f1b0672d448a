// TableFile: the frame of the files that drafters keep (docs/formats.md): a header that says what
// it is, of which vocabulary and how long, with a checksum of itself and of all that follows. A
// file is hostile input: what is handed out has the length and the checksum that the header says,
// and nothing more is promised (anyone can compute a checksum): the reader checks what it means.
// Immutable and thread safe. Like a model file it is mapped: replace it by renaming.
#ifndef HUNCH_DRAFT_TABLE_FILE_H_
#define HUNCH_DRAFT_TABLE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "weights/mapped_file.h"

namespace hunch {

// Whose token ids a file holds.
struct VocabularyId {
  uint64_t fingerprint = 0;  // equal only for equal vocabularies
  int size = 0;              // ids are 0 .. size - 1
};

// What a file is.
struct TableKind {
  std::string_view magic;  // 8 bytes
  std::string_view name;   // in messages: "suffix store"
  uint32_t version;
};

class TableFile {
 public:
  static Result<TableFile> Open(const std::string& path, const TableKind& kind,
                                const VocabularyId& vocabulary);
  // `bytes` must outlive the file (tests, fuzzing).
  static Result<TableFile> Parse(std::span<const std::byte> bytes, std::string name,
                                 const TableKind& kind, const VocabularyId& vocabulary);
  // As if `payload`, which must outlive the file, had come out of a sound frame (tests, fuzzing).
  static TableFile OfPayload(std::span<const std::byte> payload, std::string name);
  // What the parts hold, one after the other; by a temporary file and a rename.
  static Status Write(const std::string& path, const TableKind& kind,
                      const VocabularyId& vocabulary,
                      std::span<const std::span<const std::byte>> parts);

  const std::string& name() const { return name_; }
  std::span<const std::byte> payload() const { return payload_; }
  // An error that names the file.
  Error Bad(std::string_view what) const;

 private:
  TableFile() = default;

  std::string name_;
  std::optional<MappedFile> file_;
  std::span<const std::byte> payload_;
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_TABLE_FILE_H_
