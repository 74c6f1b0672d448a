// The pickle inside a torch checkpoint: a table of tensors by name, and nothing else. A pickle is a
// program for a machine that can call anything; this machine can make tables, tuples, numbers and
// texts, and knows three names: collections.OrderedDict, torch._utils._rebuild_tensor_v2 and
// torch's storages. Whatever else a pickle asks for is refused by its name. No code runs. Pure;
// thread safe.
#ifndef HUNCH_CONVERT_TENSOR_PICKLE_H_
#define HUNCH_CONVERT_TENSOR_PICKLE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "convert/named_tensor.h"

namespace hunch {

struct PickledTensor {
  std::string name;
  NumberType type = NumberType::kF32;
  std::string storage;           // its key: which entry of the archive
  int64_t storage_elements = 0;  // as the pickle says; not checked against the entry
  int64_t offset = 0;            // in elements; the tensor lies inside of the storage
  std::vector<int64_t> shape;    // not negative; contiguous
};

// `name` is what errors call the file.
Result<std::vector<PickledTensor>> ReadTensorPickle(std::span<const std::byte> bytes,
                                                    std::string_view name);

}  // namespace hunch

#endif  // HUNCH_CONVERT_TENSOR_PICKLE_H_
