// Makes the texts that a head is trained on: the target answers prompts, many at once, on Hunch's
// own engine. Without prompts the target writes them itself (self-prompting): it continues what its
// chat template says before a user's words.
//
// A text depends on the model, the options and the number of its request alone, not on what else
// ran, so that a run that was killed goes on to the same texts. Not thread safe: runs on the thread
// that calls.
#ifndef HUNCH_TRAIN_MAKE_TEXTS_H_
#define HUNCH_TRAIN_MAKE_TEXTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/llm.h"
#include "train/token_data.h"

namespace hunch {

struct TextOptions {
  int requests = 1000;
  // Answered in turn, again from the first if there are fewer than requests; none: self-prompting.
  std::vector<std::string> prompts;
  uint64_t seed = 0;
  float temperature = 0.8f;  // of every second answer; the others, from the first on, are greedy
  int most_question_tokens = 160;
  int most_answer_tokens = 384;
  int at_once = 64;  // requests that run together
};

// Names what the options and the model make, for TokenData::Open. model: a fingerprint of its file.
uint64_t RecipeOf(const TextOptions& options, uint64_t model);

struct TextProgress {
  int done = 0;  // requests, of those asked for
  int64_t answer_tokens = 0;
};
// Called after every step; false: stop, and keep what is whole.
using OnTexts = std::function<bool(const TextProgress&)>;

// Adds the texts of requests 0 .. requests - 1 that `data` does not have. True: it has all of them.
// kUnsupported: self-prompting needs a chat template in which a user's words come after something.
Result<bool> MakeTexts(Llm& llm, const TextOptions& options, TokenData& data,
                       const OnTexts& on_progress);

// What the template says before a user's words. For tests.
Result<std::vector<TokenId>> StartOfUserTurn(const Llm& llm);

}  // namespace hunch

#endif  // HUNCH_TRAIN_MAKE_TEXTS_H_
