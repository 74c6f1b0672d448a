// Text of unknown origin made fit for one line of a terminal. Pure.
#ifndef HUNCH_BASE_ONE_LINE_H_
#define HUNCH_BASE_ONE_LINE_H_

#include <string>
#include <string_view>

namespace hunch {

// Control characters, which a terminal may act on, become spaces; bytes that are not UTF-8 become
// U+FFFD, since whoever reads our output may refuse all of it because of them.
std::string OneLine(std::string_view text);

}  // namespace hunch

#endif  // HUNCH_BASE_ONE_LINE_H_
