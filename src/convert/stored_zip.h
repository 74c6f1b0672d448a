// Zip archives as torch writes them: every entry stored, none compressed, no comment at the end.
//
// Ours, and not libzip's or minizip's: what torch writes needs a tenth of what those do, has
// nothing to unpack that could grow, and is read in place from the mapped file. The entries' CRCs
// are not compared: damaged weights cost guesses, never text. The file is hostile input: every
// offset and size is checked. Pure; thread safe.
#ifndef HUNCH_CONVERT_STORED_ZIP_H_
#define HUNCH_CONVERT_STORED_ZIP_H_

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hunch {

// An entry's bytes by its name.
using ZipEntries = std::map<std::string, std::span<const std::byte>, std::less<>>;

// Whether they begin as a zip archive does.
bool BeginsAsZip(std::span<const std::byte> bytes);

// The entries point into `bytes`. `name` is what errors call the file.
Result<ZipEntries> ParseStoredZip(std::span<const std::byte> bytes, std::string_view name);

}  // namespace hunch

#endif  // HUNCH_CONVERT_STORED_ZIP_H_
