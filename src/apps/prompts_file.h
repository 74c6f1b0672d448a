// Prompt files: one JSON object {"id", "category", "prompt"} a line. Pure but for reading the file.
#ifndef HUNCH_APPS_PROMPTS_FILE_H_
#define HUNCH_APPS_PROMPTS_FILE_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace hunch {

struct BenchPrompt {
  std::string id, category, text;
};

// The first `per_category` of each category (0: all), in the file's order. Errors name file and
// line.
Result<std::vector<BenchPrompt>> ReadPromptsFile(const std::string& path, int per_category);

}  // namespace hunch

#endif  // HUNCH_APPS_PROMPTS_FILE_H_
