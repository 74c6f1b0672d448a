#include "weights/fingerprint.h"

#include <gtest/gtest.h>

#include "support/model_runner.h"

namespace hunch {
namespace {

uint64_t Of(const std::string& model) {
  return FingerprintOf(*GgufFile::Open(TinyModelPath(model)).value());
}

TEST(Fingerprint, TellsModelsApart) {
  EXPECT_EQ(Of("llama"), Of("llama"));
  EXPECT_NE(Of("llama"), Of("qwen2"));
  EXPECT_NE(Of("llama"), Of("llama_f16"));
}

}  // namespace
}  // namespace hunch
