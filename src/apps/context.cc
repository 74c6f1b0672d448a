#include "apps/context.h"

namespace hunch {

Result<OpenedTokenizer> OpenTokenizer(const std::string& path) {
  OpenedTokenizer opened;
  HUNCH_ASSIGN_OR_RETURN(opened.file, GgufFile::Open(path));
  HUNCH_ASSIGN_OR_RETURN(opened.tokenizer, Tokenizer::Create(*opened.file));
  return opened;
}

}  // namespace hunch
