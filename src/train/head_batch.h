// HeadBatch: some texts laid out for one update of a student, or for judging it. Numbers only, so
// that what computes with them (torch) needs to know nothing of files and texts. Making one is
// pure.
//
// Of a text t_0 .. t_(n-1) the head has a row for each position p = 0 .. n-3: it reads the target's
// taps at p and the embedding of t_(p+1), and guesses t_(p+2). Step k of training-time test (arXiv
// 2503.01840) asks the same rows again, which now read their own output of step k - 1 and the
// embedding of t_(p+1+k), and guess t_(p+2+k). So a row is *asked* if one of its guesses falls into
// the answer; the others are there for what they give to attention.
//
// A draft model has a row for each token instead; that of the token that an asked row reads in step
// k makes the same guess.
#ifndef HUNCH_TRAIN_HEAD_BATCH_H_
#define HUNCH_TRAIN_HEAD_BATCH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "train/features.h"
#include "train/target_rows.h"
#include "train/train_set.h"

namespace hunch {

struct HeadBatch {
  struct Text {
    int first_row, rows;        // of those of the batch
    int first_asked, asked;     // of the asked ones of the batch
    int first_position;         // of its asked rows; they are its last ones
    int first_answer, answers;  // tokens of its answer that are guessed, of those of the batch
  };

  int hidden = 0, tap_size = 0;
  int steps = 0;
  std::vector<Text> texts;
  std::vector<int64_t> tokens;    // [tokens of the texts], ids
  std::vector<float> taps;        // [rows][tap_size]
  std::vector<float> embeddings;  // [tokens of the texts][hidden]
  // Which of the embeddings a row reads.
  std::vector<int64_t> row_tokens;                 // [rows], in step 0
  std::vector<std::vector<int64_t>> asked_tokens;  // [steps][asked]
  // What the target's output matrix read where it chose the guessed tokens.
  std::vector<float> finals;  // [answers][hidden]
  // Which of the asked rows guesses an answer's token in a step.
  std::vector<std::vector<int64_t>> answer_rows;  // [steps][answers]

  int rows() const { return static_cast<int>(row_tokens.size()); }
  int asked() const { return steps == 0 ? 0 : static_cast<int>(asked_tokens[0].size()); }
  int answers() const { return steps == 0 ? 0 : static_cast<int>(answer_rows[0].size()); }
};

// Every text must be long enough for `steps` (MakeTrainSet). tap_inverse[tap_size]: what the taps
// are multiplied with; a draft model has none.
Result<HeadBatch> MakeHeadBatch(std::span<const PlacedText> texts, int steps,
                                const TargetRows& target, FeatureSource& features,
                                std::span<const float> tap_inverse);

// The spread of each tap's numbers over answers of the first texts: [tap_size], sqrt of the mean
// square. Some of a model's channels are a hundred times as large as others, and an optimiser that
// moves every weight as far as any other wants inputs of one size.
Result<std::vector<float>> TapSpread(std::span<const PlacedText> texts, FeatureSource& features);

}  // namespace hunch

#endif  // HUNCH_TRAIN_HEAD_BATCH_H_
