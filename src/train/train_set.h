// TrainSet: which texts a head learns from and which it is judged by, the tokens that it can guess,
// and the batches of each epoch. Pure.
#ifndef HUNCH_TRAIN_TRAIN_SET_H_
#define HUNCH_TRAIN_TRAIN_SET_H_

#include <cstdint>
#include <span>
#include <vector>

#include "seq/types.h"
#include "train/token_data.h"

namespace hunch {

// A text, and where its rows begin among those of all texts.
struct PlacedText {
  const TrainText* text;
  int64_t first_row;
};

struct TrainSet {
  std::vector<PlacedText> all;       // that can be learned from; their rows are in this order
  std::vector<PlacedText> learned;   // of them
  std::vector<PlacedText> held_out;  // of them, greedy answers, never learned from
  int64_t rows = 0;                  // of all
  int64_t learned_tokens = 0;        // of the answers
  uint64_t fingerprint = 0;          // of all tokens, in their order
};

// steps: how far ahead guesses are made in training and when judged; a text that is too short for
// that, or longer than most_tokens, is left out. Every 32nd request is held out, if its answer is
// greedy: only then does a guess come true just when it is the text's next token. `data` must
// outlive the set.
TrainSet MakeTrainSet(const TokenData& data, int requests, int steps, int most_tokens);

// Whether some row of it can be asked for `steps` guesses.
bool IsLongEnough(const TrainText& text, int steps);

// The `size` tokens that answers have most, ascending, end tokens among them.
std::vector<TokenId> GuessableTokens(std::span<const PlacedText> texts, int vocab_size, int size,
                                     std::span<const TokenId> end_tokens);

// Indices into texts, in batches of at most batch_tokens tokens (one text at least), shuffled by
// seed and epoch.
std::vector<std::vector<int>> BatchesOf(std::span<const PlacedText> texts, int batch_tokens,
                                        uint64_t seed, uint32_t epoch);

}  // namespace hunch

#endif  // HUNCH_TRAIN_TRAIN_SET_H_
