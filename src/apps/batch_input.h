// BatchInput: the file of requests of `hunch batch`, read a line at a time: it may be larger than
// the memory. Read twice: once for which lines there are, and once for what they say. Not thread
// safe.
#ifndef HUNCH_APPS_BATCH_INPUT_H_
#define HUNCH_APPS_BATCH_INPUT_H_

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/result.h"

namespace hunch {

struct BatchLine {
  int64_t number = 0;     // in the file, from 1
  uint64_t id = 0;        // of its bytes, and of how many equal lines came before
  std::string text;       // without blanks around it
  bool too_long = false;  // `text` is its beginning
};

// The lines of a stream that are not blank.
class BatchLines {
 public:
  static constexpr size_t kMostBytes = size_t{32} << 20;  // of one line

  explicit BatchLines(std::ifstream in) : in_(std::move(in)) {}
  // False at the end, and when the file cannot be read any further: then failed().
  bool Next(BatchLine& line);
  bool failed() const { return failed_; }

 private:
  bool ReadRaw(std::string& text, uint64_t& bytes);

  std::ifstream in_;
  bool failed_ = false;
  int64_t number_ = 0;
  std::unordered_map<uint64_t, int64_t> seen_;  // hash of a line -> how often it came
};

class BatchInput {
 public:
  // Errors name the path.
  static Result<std::unique_ptr<BatchInput>> Open(const std::string& path);

  int64_t size() const { return static_cast<int64_t>(ids_.size()); }
  bool Has(uint64_t id) const { return ids_.contains(id); }
  // The next line. False at the end. An error when the file is another one by now.
  Result<bool> Next(BatchLine& line);
  const std::string& path() const { return path_; }

 private:
  BatchInput(std::string path, BatchLines lines)
      : path_(std::move(path)), lines_(std::move(lines)) {}

  std::string path_;
  std::unordered_set<uint64_t> ids_;
  BatchLines lines_;
  int64_t read_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_APPS_BATCH_INPUT_H_
