# hunch_xgrammar: the grammar library, from the C++ sources inside its Python package, which scripts/fetch_xgrammar
# brings when they are not there. Only src/grammar sees its headers. See docs/decisions/011-grammar-library.md.
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/fetch_xgrammar
  OUTPUT_VARIABLE xgrammar OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE xgrammar_status)
if(NOT xgrammar_status EQUAL 0)
  message(FATAL_ERROR "scripts/fetch_xgrammar failed: it says why above")
endif()

set(HUNCH_XGRAMMAR_LIBRARY "" CACHE FILEPATH
  "libhunch_xgrammar.a of another build with the same compiler, to do without building it; its calls are not sanitized then")
if(HUNCH_XGRAMMAR_LIBRARY)
  add_library(hunch_xgrammar STATIC IMPORTED)
  set_target_properties(hunch_xgrammar PROPERTIES IMPORTED_LOCATION ${HUNCH_XGRAMMAR_LIBRARY})
  target_include_directories(hunch_xgrammar SYSTEM INTERFACE ${xgrammar}/include ${xgrammar}/3rdparty/dlpack/include)
  target_link_libraries(hunch_xgrammar INTERFACE Threads::Threads)
  return()
endif()

file(GLOB_RECURSE xgrammar_sources ${xgrammar}/cpp/*.cc)
list(FILTER xgrammar_sources EXCLUDE REGEX "/cpp/tvm_ffi/")  # bindings for Python
add_library(hunch_xgrammar STATIC ${xgrammar_sources})
set_target_properties(hunch_xgrammar PROPERTIES CXX_STANDARD 17 EXPORT_COMPILE_COMMANDS OFF)
target_include_directories(hunch_xgrammar SYSTEM PUBLIC ${xgrammar}/include ${xgrammar}/3rdparty/dlpack/include
  PRIVATE ${xgrammar}/3rdparty/picojson)
# Its messages go through src/grammar/to_rules.cc. Its warnings are not ours.
target_compile_definitions(hunch_xgrammar PRIVATE XGRAMMAR_LOG_CUSTOMIZE=1 XGRAMMAR_ENABLE_CPPTRACE=0
  XGRAMMAR_ENABLE_INTERNAL_CHECK=0)
target_compile_options(hunch_xgrammar PRIVATE -w)
if(HUNCH_SANITIZE MATCHES "undefined")
  target_compile_options(hunch_xgrammar PRIVATE -fno-sanitize=undefined)
endif()
target_link_libraries(hunch_xgrammar PUBLIC Threads::Threads)
