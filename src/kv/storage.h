// The memory of a paged KV cache: for every layer, `blocks` blocks of keys and as many of values.
// Pages are taken from the system when they are first written, so an idle cache costs nothing.
#ifndef HUNCH_KV_STORAGE_H_
#define HUNCH_KV_STORAGE_H_

#include <cstddef>

#include "base/aligned_buffer.h"
#include "base/result.h"

namespace hunch {

class KvStorage {
 public:
  // block_bytes: one layer's keys (and as much again for its values) of one block.
  static Result<KvStorage> Create(int layers, int blocks, size_t block_bytes) {
    KvStorage storage;
    storage.layer_bytes_ = static_cast<size_t>(blocks) * block_bytes;
    HUNCH_ASSIGN_OR_RETURN(storage.keys_, AlignedBuffer::Create(layers * storage.layer_bytes_));
    HUNCH_ASSIGN_OR_RETURN(storage.values_, AlignedBuffer::Create(layers * storage.layer_bytes_));
    return storage;
  }
  std::byte* keys(int layer) { return keys_.data() + layer * layer_bytes_; }
  std::byte* values(int layer) { return values_.data() + layer * layer_bytes_; }

 private:
  AlignedBuffer keys_, values_;
  size_t layer_bytes_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_KV_STORAGE_H_
