// The heads that are shipped with Hunch: files of one folder, of which each target takes the one
// that fits it best. Only headers are read. What is wrong with such a file, or with the folder, is
// a warning that names it, never an error: nobody asked for it. Thread safe.
#ifndef HUNCH_DRAFT_SHIPPED_HEADS_H_
#define HUNCH_DRAFT_SHIPPED_HEADS_H_

#include <optional>
#include <string>

#include "draft/head_file.h"

namespace hunch {

// The path of the best head for `target` among the *.gguf of `folder` ("": there is none): of
// eagle3 before eagle before medusa, and of one kind the first by name; `kind`: of this kind only.
std::optional<std::string> FindShippedHead(const std::string& folder, const HeadTarget& target,
                                           std::optional<HeadKind> kind = std::nullopt);

}  // namespace hunch

#endif  // HUNCH_DRAFT_SHIPPED_HEADS_H_
