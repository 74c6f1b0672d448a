#include "train/medusa_torch.h"

#include <utility>
#include <vector>

#include "train/head_trainer_torch.h"

namespace hunch {
namespace {

using namespace head_tensors;

class MedusaTrainer : public TorchTrainer {
 public:
  // As the paper begins: every head is the target's own output matrix.
  explicit MedusaTrainer(const HeadStart& start) : TorchTrainer(start) {
    const int64_t hidden = start.config.target.hidden;
    const std::vector<float> zeros(static_cast<size_t>(hidden * hidden));
    for (int head = 0; head < start.config.medusa_heads; ++head) {
      weights_.Set(MedusaFc(head), zeros);
      weights_.Set(MedusaOutput(head), start.output);
    }
  }

 private:
  class MedusaPass : public Pass {
   public:
    MedusaPass(LearnedWeights& weights, const HeadBatch& batch)
        : w_(weights),
          features_(ViewOf(batch.taps, {batch.rows(), batch.tap_size})
                        .index_select(0, AskedRows(batch))) {}

    at::Tensor OutputInput(int step, const at::Tensor& rows) override {
      const at::Tensor features = features_.index_select(0, rows);
      const at::Tensor inner = w_.Linear(features, MedusaFc(step)) + w_.Get(MedusaFcBias(step));
      return features + at::silu(inner);
    }
    std::string OutputName(int step) const override { return MedusaOutput(step); }

   private:
    LearnedWeights& w_;
    const at::Tensor features_;  // [asked][hidden]
  };

  std::unique_ptr<Pass> Run(const HeadBatch& batch) override {
    return std::make_unique<MedusaPass>(weights_, batch);
  }
};

}  // namespace

std::unique_ptr<HeadTrainer> MakeMedusaTrainer(const HeadStart& start) {
  return std::make_unique<MedusaTrainer>(start);
}

}  // namespace hunch
