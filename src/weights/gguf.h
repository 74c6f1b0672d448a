// GGUF model files, versions 2 and 3: reading (mmap) and writing.
// The file is hostile input: every count, offset, size and type is checked before use; see
// gguf_parse.cc for how and gguf_format.h for the bounds. A GgufFile is immutable and thread safe
// once opened.
//
// Limit: an opened file is mapped, not copied. A file that another program cuts short or overwrites
// while it is open ends this process with SIGBUS or changes the weights; replace model files by
// renaming.
#ifndef HUNCH_WEIGHTS_GGUF_H_
#define HUNCH_WEIGHTS_GGUF_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "quant/types.h"

namespace hunch {

// Arrays are typed vectors; nested arrays are refused. Narrow integers keep their signedness.
using GgufValue = std::variant<uint64_t, int64_t, double, bool, std::string, std::vector<uint64_t>,
                               std::vector<int64_t>, std::vector<double>, std::vector<bool>,
                               std::vector<std::string>>;

struct GgufTensor {
  std::string name;
  TensorType type;
  std::vector<int64_t> shape;  // GGUF order: shape[0] is contiguous (a row's length); 1..4 dims
  std::span<const std::byte> data;  // points into the mapped file
  int64_t elements() const;
  int64_t columns() const { return shape[0]; }
  int64_t rows() const { return elements() / shape[0]; }
};

class GgufFile {
 public:
  static Result<std::unique_ptr<GgufFile>> Open(const std::string& path);
  // `bytes` must outlive the file (tests, fuzzing).
  static Result<std::unique_ptr<GgufFile>> Parse(std::span<const std::byte> bytes,
                                                 std::string name);
  virtual ~GgufFile() = default;

  const std::string& name() const { return name_; }
  uint64_t file_bytes() const { return file_bytes_; }
  const std::map<std::string, GgufValue, std::less<>>& metadata() const { return metadata_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufTensor* FindTensor(std::string_view name) const;

  // Typed look-ups. A missing key or a value of another type is an error that names the key; the
  // ...Or forms give the default for a missing key only. Any integer type is accepted if it fits.
  Result<int64_t> GetInt(std::string_view key) const;
  Result<int64_t> GetIntOr(std::string_view key, int64_t fallback) const;
  // Only floats, and only finite ones.
  Result<double> GetFloat(std::string_view key) const;
  Result<double> GetFloatOr(std::string_view key, double fallback) const;
  Result<bool> GetBoolOr(std::string_view key, bool fallback) const;
  Result<std::string> GetString(std::string_view key) const;
  Result<std::string> GetStringOr(std::string_view key, std::string fallback) const;
  Result<const std::vector<std::string>*> GetStrings(std::string_view key) const;
  Result<std::vector<int64_t>> GetInts(std::string_view key) const;

  // Tells the system that the tensors' pages are not needed any more (they were repacked).
  virtual void DropPages() const {}

 protected:
  GgufFile() = default;
  const GgufValue* FindValue(std::string_view key) const;
  Error Missing(std::string_view key) const;
  Error WrongType(std::string_view key, std::string_view wanted) const;

  std::string name_;
  uint64_t file_bytes_ = 0;
  std::map<std::string, GgufValue, std::less<>> metadata_;
  std::vector<GgufTensor> tensors_;  // in file order
  std::map<std::string, size_t, std::less<>> tensor_index_;
};

// Writes version 3. Keys and tensors are written in the order added; the same calls give the same
// bytes. An integer (or a whole array) is written as uint32 / int32 if it fits, else as uint64 /
// int64; a float as float32 if that loses nothing, else as float64 (other readers want float32:
// give them double(1e-6f)). Not thread safe.
class GgufWriter {
 public:
  // Replaces the value of a key that is there. "general.alignment" (default 32) also takes effect.
  void Set(std::string key, GgufValue value);
  // `data` is BytesOf(type, elements) bytes. CHECKs what the reader would refuse: the name (1 to 64
  // bytes, new), the shape and the size.
  void AddTensor(std::string name, TensorType type, std::vector<int64_t> shape,
                 std::vector<std::byte> data);
  // Without a copy: `data` must stay until the file is written.
  void AddTensorView(std::string name, TensorType type, std::vector<int64_t> shape,
                     std::span<const std::byte> data);
  std::vector<std::byte> Serialize() const;
  // By a temporary file beside it, fsync and rename: `path` is never half a file.
  Status WriteFile(const std::string& path) const;

 private:
  struct Tensor {
    std::string name;
    TensorType type;
    std::vector<int64_t> shape;
    std::vector<std::byte> owned;  // empty: it is a view
    std::span<const std::byte> view;
    std::span<const std::byte> data() const { return owned.empty() ? view : owned; }
  };
  uint64_t Alignment() const;
  // Everything before the tensors' data, padded.
  std::vector<std::byte> SerializeHeader() const;

  std::vector<std::pair<std::string, GgufValue>> metadata_;
  std::vector<Tensor> tensors_;
};

}  // namespace hunch

#endif  // HUNCH_WEIGHTS_GGUF_H_
