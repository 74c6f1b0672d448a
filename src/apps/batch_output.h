// BatchOutput: the file of answers of `hunch batch`. What Append has taken is on the disk, whole,
// and stays there whatever becomes of the process; what a process that was killed left behind it is
// cut off by the next. One process at a time has the file. Not thread safe.
#ifndef HUNCH_APPS_BATCH_OUTPUT_H_
#define HUNCH_APPS_BATCH_OUTPUT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "apps/batch_input.h"
#include "base/result.h"

namespace hunch {

class BatchOutput {
 public:
  // Opens the file, or makes it. An error, and the file is as it was, unless all that is in it
  // answers lines of `input` and comes from the model that calls itself `fingerprint`.
  static Result<std::unique_ptr<BatchOutput>> Open(const std::string& path, const BatchInput& input,
                                                   const std::string& fingerprint);
  ~BatchOutput();
  BatchOutput(const BatchOutput&) = delete;
  BatchOutput& operator=(const BatchOutput&) = delete;

  bool Done(uint64_t id) const { return done_.contains(id); }
  // Lines that were there when the file was opened.
  int64_t done() const { return static_cast<int64_t>(done_.size()); }
  bool cut() const { return cut_; }  // a torn line was there and was dropped

  // Whole lines, with their ends. After an error the file holds none of them, and all before.
  Status Append(std::string_view lines);

 private:
  BatchOutput(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status Lock();
  Status ReadDone(const BatchInput& input, const std::string& fingerprint);
  Status CutTornLine();
  Status WriteAll(std::string_view bytes);
  Error Failed(std::string_view what) const;  // by errno

  const std::string path_;
  const int fd_;
  int64_t size_ = 0;  // bytes of whole lines
  bool cut_ = false;
  std::unordered_set<uint64_t> done_;
};

}  // namespace hunch

#endif  // HUNCH_APPS_BATCH_OUTPUT_H_
