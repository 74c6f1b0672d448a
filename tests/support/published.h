// Files of published heads for tests, written byte for byte: safetensors, and torch's zip archives
// with their pickles. It knows nothing of src/convert (a fault there cannot hide itself here).
#ifndef HUNCH_TESTS_SUPPORT_PUBLISHED_H_
#define HUNCH_TESTS_SUPPORT_PUBLISHED_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/gguf_builder.h"

namespace hunch {

struct RawTensor {
  std::string dtype;  // of safetensors: "F32", ...
  std::vector<int64_t> shape;
  std::string data;
};
using RawTensors = std::map<std::string, RawTensor>;

inline RawTensor FloatTensor(std::vector<int64_t> shape, const std::vector<float>& values) {
  RawTensor tensor = {"F32", std::move(shape), {}};
  for (const float value : values) tensor.data += Raw(value);
  return tensor;
}

// A table as JSON text, and what follows it.
inline std::string SafetensorsFile(std::string_view table, std::string_view data) {
  return Raw(uint64_t{table.size()}) + std::string(table) + std::string(data);
}

inline std::string SafetensorsOf(const RawTensors& tensors) {
  nlohmann::json table = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    table[name] = {{"dtype", tensor.dtype},
                   {"shape", tensor.shape},
                   {"data_offsets", {data.size(), data.size() + tensor.data.size()}}};
    data += tensor.data;
  }
  return SafetensorsFile(table.dump(), data);
}

// An archive; what is wrong with an entry overrides what is right.
struct RawZip {
  struct Entry {
    std::string name, data;
    uint16_t flags = 0, method = 0;
    uint32_t stored = 0;  // 0: as long as the data
  };
  std::vector<Entry> entries;
  bool wide = false;  // sizes and places in 64-bit fields, as of more than 4 GB
  std::string comment;

  std::string Build() const {
    std::string file, directory;
    for (const Entry& entry : entries) {
      const uint64_t offset = file.size();
      const auto size = static_cast<uint32_t>(entry.data.size());
      const uint32_t stored = entry.stored == 0 ? size : entry.stored;
      const std::string head = Raw(uint16_t{45}) + Raw(entry.flags) + Raw(entry.method) +
                               Raw(uint32_t{0}) + Raw(uint32_t{0});
      const std::string padding(5, 'p');  // torch aligns what follows with it
      file += "PK\3\4" + head + Raw(stored) + Raw(size) + Raw(uint16_t(entry.name.size())) +
              Raw(uint16_t(padding.size())) + entry.name + padding + entry.data;
      const std::string extra = wide ? Raw(uint16_t{7}) + Raw(uint16_t{2}) + "xy" +
                                           Raw(uint16_t{1}) + Raw(uint16_t{24}) +
                                           Raw(uint64_t{size}) + Raw(uint64_t{stored}) + Raw(offset)
                                     : "";
      const uint32_t elsewhere = 0xFFFFFFFF;
      directory += "PK\1\2" + Raw(uint16_t{45}) + head + Raw(wide ? elsewhere : stored) +
                   Raw(wide ? elsewhere : size) + Raw(uint16_t(entry.name.size())) +
                   Raw(uint16_t(extra.size())) + Raw(uint16_t{0}) + Raw(uint64_t{0}) +
                   Raw(wide ? elsewhere : static_cast<uint32_t>(offset)) + entry.name + extra;
    }
    const auto count = static_cast<uint16_t>(entries.size());
    const uint64_t begin = file.size(), end = begin + directory.size();
    file += directory;
    if (wide) {
      file += "PK\6\6" + Raw(uint64_t{44}) + Raw(uint64_t{0}) + Raw(uint32_t{0}) +
              Raw(uint64_t{count}) + Raw(uint64_t{count}) + Raw(uint64_t{directory.size()}) +
              Raw(begin);
      file += "PK\6\7" + Raw(uint32_t{0}) + Raw(end) + Raw(uint32_t{1});
    }
    return file + "PK\5\6" + Raw(uint32_t{0}) + Raw(count) + Raw(count) +
           Raw(wide ? ~uint32_t{0} : static_cast<uint32_t>(directory.size())) +
           Raw(wide ? ~uint32_t{0} : static_cast<uint32_t>(begin)) + Raw(uint16_t(comment.size())) +
           comment;
  }
};

// Pieces of pickles, by the names of Python's pickletools.
namespace pickled {
inline const std::string kBegin = "\x80\x02", kEnd = ".";
inline std::string Global(const std::string& module, const std::string& name) {
  return 'c' + module + '\n' + name + '\n';
}
inline std::string Text(const std::string& text) { return 'X' + Raw(uint32_t(text.size())) + text; }
inline std::string Int(int32_t number) { return 'J' + Raw(number); }
inline std::string Ints(const std::vector<int64_t>& numbers) {
  std::string tuple = "(";
  for (const int64_t number : numbers) tuple += Int(static_cast<int32_t>(number));
  return tuple + 't';
}
inline std::string OrderedDict() { return Global("collections", "OrderedDict") + ")R"; }
inline std::string Storage(const std::string& type, const std::string& key, int64_t elements) {
  return "(" + Text("storage") + Global("torch", type) + Text(key) + Text("cpu") +
         Int(static_cast<int32_t>(elements)) + "tQ";
}
// A tensor of all or a part of a storage.
inline std::string Tensor(const std::string& storage, int64_t offset,
                          const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  return Global("torch._utils", "_rebuild_tensor_v2") + "(" + storage +
         Int(static_cast<int32_t>(offset)) + Ints(shape) + Ints(strides) + "\x89" + OrderedDict() +
         "tR";
}
// A contiguous one.
inline std::string Tensor(const std::string& storage, const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return Tensor(storage, 0, shape, strides);
}
}  // namespace pickled

// As torch.save writes a state_dict of them.
inline std::string TorchFileOf(const RawTensors& tensors) {
  static const std::map<std::string, std::pair<std::string, int64_t>> kStorages = {
      {"F32", {"FloatStorage", 4}},
      {"F16", {"HalfStorage", 2}},
      {"BF16", {"BFloat16Storage", 2}},
      {"I64", {"LongStorage", 8}},
      {"BOOL", {"BoolStorage", 1}}};
  std::string pickle = pickled::kBegin + pickled::OrderedDict() + "(";
  RawZip zip = {.entries = {{"archive/data.pkl"}, {"archive/byteorder", "little"}}};
  for (const auto& [name, tensor] : tensors) {
    const std::string key = std::to_string(zip.entries.size());
    const auto& [storage, bytes] = kStorages.at(tensor.dtype);
    const int64_t elements = static_cast<int64_t>(tensor.data.size()) / bytes;
    pickle += pickled::Text(name) +
              pickled::Tensor(pickled::Storage(storage, key, elements), tensor.shape);
    zip.entries.push_back({"archive/data/" + key, tensor.data});
  }
  zip.entries[0].data = pickle + "u" + pickled::kEnd;
  return zip.Build();
}

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_PUBLISHED_H_
