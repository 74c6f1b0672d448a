// The tokens that a draft model's output matrix is cut to (LoadOptions::kept_tokens): chosen by how
// often they were counted, and kept in a file. Pure.
//
// The file is text, so that it can be read and edited: the line
//   hunch-vocab 1 <vocabulary size> <number of ids>
// then the ids, one a line, ascending. It comes from outside and is checked whole when it is read.
#ifndef HUNCH_MODEL_TOKEN_LIST_H_
#define HUNCH_MODEL_TOKEN_LIST_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "seq/types.h"

namespace hunch {

// The `size` tokens counted most, ascending; of equals those of lower id (in most vocabularies the
// commoner ones). counts[i] is of token i. `always` (end tokens, say) are among them whatever their
// counts; ids outside the vocabulary are passed over. Fewer than size when there are no more.
std::vector<TokenId> MostFrequentTokens(std::span<const int64_t> counts, int size,
                                        std::span<const TokenId> always = {});

std::string TokenListText(std::span<const TokenId> tokens, int vocab_size);

// The list of such a text. kBadFile, naming `name` and the line, unless it is one of this format,
// of at least one id, all below the size that it states; kInvalidArgument when that size is not
// `vocab_size`: it was made for another vocabulary.
Result<std::vector<TokenId>> ParseTokenList(std::string_view text, const std::string& name,
                                            int vocab_size);

}  // namespace hunch

#endif  // HUNCH_MODEL_TOKEN_LIST_H_
