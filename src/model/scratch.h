// The buffers of a forward pass, made once at load: a pass allocates nothing. For the models of
// model/ and for heads, which are a layer of such a model (draft/head_model.h). Not thread safe.
#ifndef HUNCH_MODEL_SCRATCH_H_
#define HUNCH_MODEL_SCRATCH_H_

#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/matmul.h"
#include "model/model.h"

namespace hunch {

// Rows that share one sweep over a KV block in attention.
inline constexpr int kTileRows = 8;

// The input of a linear layer: fp32 rows and their int8 form.
struct ActBuffer {
  int64_t k = 0;
  float* f32 = nullptr;    // [max_rows][k]
  int8_t* q = nullptr;     // [max_rows][k]
  float* scale = nullptr;  // [max_rows][k / 32]
  int16_t* sum = nullptr;  // [max_rows][k / 16]

  ActRows View(int rows) const { return {rows, k, f32, q, scale, sum}; }
  ActRows Row(int64_t r) const {
    const int64_t at = r * k;
    return {1, k, f32 + at, q + at, scale + at / kActBlock, sum + at / 16};
  }
  // Quantises columns [begin, end) of a row; both must be multiples of 32.
  void Quantize(int row, int64_t begin, int64_t end) {
    const int64_t at = row * k + begin;
    QuantizeRow(f32 + at, end - begin, q + at, scale + at / kActBlock, sum + at / 16);
  }
};

// Where one value of a block dwarfs the other 31, int8 keeps next to nothing of these: the block is
// spiked, and what was lost is quantised again and multiplied in a second pass (docs/numerics.md).
// It happens where attention sinks: the first position of Qwen2.5-1.5B, whose logits were off by
// 0.12 nat without it.
bool IsSpiked(const int8_t* q);
// Fills `spill` (row r) with what the spiked blocks of acts' row r lost; false, and nothing, when
// there is none.
bool SpillSpikes(const ActBuffer& acts, int64_t r, ActBuffer& spill);

// Hands out aligned pieces of one block of memory, or counts what they would take (base null).
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  template <typename T>
  void Take(T*& pointer, int64_t count) {
    if (base_ != nullptr) pointer = reinterpret_cast<T*>(base_ + used_);
    used_ += (count * sizeof(T) + kCacheLine - 1) / kCacheLine * kCacheLine;
  }
  void Take(ActBuffer& acts, int rows, int64_t k) {
    acts.k = k;
    Take(acts.f32, rows * k);
    Take(acts.q, rows * k);
    Take(acts.scale, rows * (k / kActBlock + 1));
    Take(acts.sum, rows * (k / 16 + 1));
  }
  size_t used() const { return used_; }

 private:
  static constexpr size_t kCacheLine = 64;
  std::byte* base_;
  size_t used_ = 0;
};

// One row of a pass.
struct RowPlan {
  TokenId token;
  int position;
  int32_t block;  // where its KV goes
  int slot_in_block;
};

// Rows [begin, end) of one sequence, as rows of the whole pass.
struct AttentionTile {
  int sequence;
  int begin, end;
};

struct PassScratch {
  static Result<std::unique_ptr<PassScratch>> Create(const ModelConfig& config,
                                                     const ForwardLimits& limits, int threads,
                                                     int logit_columns);
  // Lays the buffers out from `base` (null: only counts) and returns their size.
  size_t Layout(std::byte* base, const ModelConfig& config, const ForwardLimits& limits,
                int threads, int logit_columns);

  AlignedBuffer memory;
  float* x = nullptr;              // [max_rows][hidden], the residual stream
  float* q = nullptr;              // [max_rows][q_size]
  float* k = nullptr;              // [max_rows][kv_size]
  float* v = nullptr;              // [max_rows][kv_size]
  float* projected = nullptr;      // [max_rows][hidden], what a block adds to the residual stream
  float* up = nullptr;             // [max_rows][ffn]
  float* cos_sin = nullptr;        // [max_rows][2 * rope pairs]
  float* logits = nullptr;         // [max_logit_rows][logit_columns]
  float* maxima = nullptr;         // [max_logit_rows][LogitBlocks(logit_columns)]
  ActBuffer normed;                // k = hidden
  ActBuffer attended;              // k = q_size
  ActBuffer gated;                 // k = ffn
  ActBuffer spill;                 // k = hidden: what normed lost in spiked blocks
  float* spill_out = nullptr;      // [ffn]
  std::byte* attention = nullptr;  // [threads][attention_bytes]
  size_t attention_bytes = 0;
  float* partials = nullptr;  // of one tile over a long context
  int64_t partials_floats = 0;

  std::vector<RowPlan> rows;         // of this pass
  std::vector<RowView> views;        // [rows]
  std::vector<int32_t> extras;       // slots of tree paths, pointed into by views
  std::vector<AttentionTile> tiles;  // of this pass
  std::vector<int> logit_rows;       // of this pass
  std::vector<uint8_t> spiked;       // [max_rows]: the row has a spill
};

}  // namespace hunch

#endif  // HUNCH_MODEL_SCRATCH_H_
