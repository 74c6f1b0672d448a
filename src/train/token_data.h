// TokenData: the texts that a head is trained on, as tokens, in a file that grows text by text and
// survives a kill (docs/formats.md). A file is hostile input: what a kill left of the last text is
// cut off, anything else that is wrong is an error. Not thread safe.
#ifndef HUNCH_TRAIN_TOKEN_DATA_H_
#define HUNCH_TRAIN_TOKEN_DATA_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "draft/table_file.h"
#include "learn/append_file.h"
#include "seq/types.h"

namespace hunch {

// One request's prompt and answer. Without tokens: a request that came to nothing, kept so that it
// is not made again.
struct TrainText {
  float temperature = 0;  // of the answer
  uint32_t prompt = 0;    // tokens of it; the others are the answer
  std::vector<TokenId> tokens;

  int size() const { return static_cast<int>(tokens.size()); }
  std::span<const TokenId> answer() const { return std::span(tokens).subspan(prompt); }
};

class TokenData {
 public:
  // recipe: of what the texts are made with (model, seeds, prompts, ...): a file of another one is
  // refused, since the two would be mixed.
  static Result<TokenData> Open(const std::string& path, const VocabularyId& vocabulary,
                                uint64_t recipe);

  // By the number of their request, ascending: the order in which they were made is chance.
  const std::map<uint32_t, TrainText>& texts() const { return texts_; }
  bool Has(uint32_t request) const { return texts_.contains(request); }
  int64_t answer_tokens() const { return answer_tokens_; }
  // CHECKs that it is a new one and whole.
  Status Add(uint32_t request, TrainText text);

 private:
  explicit TokenData(AppendFile file) : file_(std::move(file)) {}
  Status ReadTexts(int vocab_size);
  void Keep(uint32_t request, TrainText text);

  AppendFile file_;
  std::map<uint32_t, TrainText> texts_;
  int64_t answer_tokens_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_TRAIN_TOKEN_DATA_H_
