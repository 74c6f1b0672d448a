# spdlog::spdlog and the fmt below it for a foreign machine, from their headers: Debian's built libraries are this
# machine's. spdlog is header-only unless told otherwise. So could fmt be, for 3 seconds more per source file; instead
# one file is made to hold all of its inline functions, and the others link to them.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/fmt.cc CONTENT "#include <fmt/format.h>\n")
add_library(hunch_fmt STATIC ${CMAKE_BINARY_DIR}/fmt.cc)
target_compile_options(hunch_fmt PRIVATE -DFMT_HEADER_ONLY -O0 -fkeep-inline-functions -w)
add_library(spdlog::spdlog INTERFACE IMPORTED)
target_link_libraries(spdlog::spdlog INTERFACE hunch_fmt)
