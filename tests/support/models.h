// Finds the real models that tests run on.
//
// The files are fetched by scripts/fetch_model (make test does it); a test never fetches. A test
// whose model is absent must skip and name it: HUNCH_REQUIRE_MODEL does both.
// Thread safe: reads only the environment and the file system.
#ifndef HUNCH_TESTS_SUPPORT_MODELS_H_
#define HUNCH_TESTS_SUPPORT_MODELS_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace hunch {

// The path of a model file: `name` is smollm2, qwen2.5-coder-0.5b or qwen2.5-coder-1.5b. Looks in
// $HUNCH_MODELS_DIR, else $XDG_CACHE_HOME/hunch/models, else ~/.cache/hunch/models. nullopt if the
// file is not there. Another name is a bug of the test.
std::optional<std::string> ModelPath(std::string_view name);

}  // namespace hunch

// Declares `variable` as the path of the model, or skips the test by name. For use in a test body
// or in SetUp.
#define HUNCH_REQUIRE_MODEL(variable, name)                                                     \
  const std::optional<std::string> variable##_or_none = ::hunch::ModelPath(name);               \
  if (!variable##_or_none) GTEST_SKIP() << "model " << (name) << " is not in the model folder"; \
  const std::string& variable = *variable##_or_none

#endif  // HUNCH_TESTS_SUPPORT_MODELS_H_
