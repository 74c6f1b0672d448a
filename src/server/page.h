// The page at "/": the files of src/server/page/, which the build puts into the program. Pure
// functions.
#ifndef HUNCH_SERVER_PAGE_H_
#define HUNCH_SERVER_PAGE_H_

#include <span>
#include <string_view>

#include "server/http.h"

namespace hunch {

struct PageFile {
  std::string_view path;  // "/chat.js"; "/" for index.html
  std::string_view content_type;
  std::string_view body;
};

// All of them (made by cmake/embed_page.cmake).
std::span<const PageFile> PageFiles();
// Null: there is none of that path.
const PageFile* FindPageFile(std::string_view path);
// Lets the page load nothing from elsewhere, run no script but its own, and be framed by nobody.
HttpResponse PageResponse(const PageFile& file);

}  // namespace hunch

#endif  // HUNCH_SERVER_PAGE_H_
