# Puts the files of a page into a source file that defines PageFiles() (src/server/page.h).
function(hunch_embed_page target folder)
  set(type_html "text/html; charset=utf-8")
  set(type_css "text/css; charset=utf-8")
  set(type_js "text/javascript; charset=utf-8")
  set(entries "")
  foreach(name index.html page.css chat.js panels.js)
    set(file ${folder}/${name})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} body)
    string(REGEX MATCH "[a-z]+$" extension ${name})
    string(REPLACE "index.html" "" path ${name})
    string(APPEND entries "    {\"/${path}\", \"${type_${extension}}\", R\"hunch_page(${body})hunch_page\"},\n")
  endforeach()
  set(source ${CMAKE_BINARY_DIR}/page_files.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT [[// Made by cmake/embed_page.cmake.
#include "server/page.h"

namespace hunch {

std::span<const PageFile> PageFiles() {
  static constexpr PageFile kFiles[] = {
@entries@  };
  return kFiles;
}

}  // namespace hunch
]] @ONLY)
  target_sources(${target} PRIVATE ${source})
endfunction()
