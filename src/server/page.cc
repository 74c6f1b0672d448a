#include "server/page.h"

#include <algorithm>

namespace hunch {

const PageFile* FindPageFile(std::string_view path) {
  const std::span<const PageFile> files = PageFiles();
  const auto at = std::find_if(files.begin(), files.end(),
                               [&](const PageFile& file) { return file.path == path; });
  return at == files.end() ? nullptr : &*at;
}

HttpResponse PageResponse(const PageFile& file) {
  constexpr std::string_view kPolicy =
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  return {.content_type = std::string(file.content_type),
          .body = std::string(file.body),
          .headers = {{"Content-Security-Policy", std::string(kPolicy)},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Cache-Control", "no-cache"}}};
}

}  // namespace hunch
