// How fast a student learns, by what it is and what was asked for.
#include "apps/train_student.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

void ExpectOptions(const TrainFlags& train, int batch_tokens, double learning_rate) {
  const TrainOptions options = TrainOptionsOf(train);
  EXPECT_EQ(options.batch_tokens, batch_tokens);
  EXPECT_FLOAT_EQ(static_cast<float>(options.learning_rate), static_cast<float>(learning_rate));
}

TEST(TrainOptionsOf, SuitTheStudentUnlessTold) {
  ExpectOptions({}, 512, 1e-3);
  ExpectOptions({.from = "head.gguf"}, 2048, 5e-4);
  ExpectOptions({.kind = std::nullopt}, 2048, 5e-4);
  ExpectOptions({.kind = std::nullopt, .from = "draft.gguf"}, 2048, 1e-4);
  // As serve --learn asks for.
  ExpectOptions({.batch_tokens = 1024, .learning_rate = 2e-4f, .from = "head.gguf"}, 1024, 2e-4);
  ExpectOptions({.options = {.epochs = 3}, .batch_tokens = 64}, 64, 1e-3);
  EXPECT_EQ(TrainOptionsOf({.options = {.epochs = 3}}).epochs, 3);
}

}  // namespace
}  // namespace hunch
