# One libFuzzer program per tests/fuzz/<name>_fuzz.cc, with its corpus in tests/fuzz/corpus/<name>, if it has one.
# Included by the main file when HUNCH_FUZZ is on (clang only). `fuzz` builds them all; scripts/run_fuzzers runs some. Run:
#   gguf_fuzz -max_len=4096 NEW_FOLDER tests/fuzz/corpus/gguf
# The sources are compiled once more, since every one of them has to be instrumented.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "HUNCH_FUZZ needs clang: configure with -DCMAKE_CXX_COMPILER=clang++")
endif()
file(GLOB fuzzed_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/quant/*.cc
  ${CMAKE_SOURCE_DIR}/src/weights/*.cc ${CMAKE_SOURCE_DIR}/src/chat/*.cc ${CMAKE_SOURCE_DIR}/src/grammar/*.cc)
list(APPEND fuzzed_sources ${CMAKE_SOURCE_DIR}/src/draft/table_file.cc ${CMAKE_SOURCE_DIR}/src/draft/ngram_table.cc
  ${CMAKE_SOURCE_DIR}/src/draft/head_file.cc ${CMAKE_SOURCE_DIR}/src/draft/suffix_index.cc ${CMAKE_SOURCE_DIR}/src/draft/suffix_store.cc)
foreach(name server/json_body server/fields server/api_error server/generation_fields server/output_fields server/chat_request
    server/completion_request server/tool_fields server/answer_id server/answer_format server/chat_format
    server/completion_format server/event_stream convert/named_tensor convert/safetensors convert/stored_zip
    convert/tensor_pickle convert/torch_zip session/json_text session/speculation session/tagged_output
    tokenizer/stream_decoder)
  list(APPEND fuzzed_sources ${CMAKE_SOURCE_DIR}/src/${name}.cc)
endforeach()
foreach(name check log memory one_line utf8)
  list(APPEND fuzzed_sources ${CMAKE_SOURCE_DIR}/src/base/${name}.cc)
endforeach()
list(APPEND fuzzed_sources ${CMAKE_SOURCE_DIR}/tests/support/byte_tokenizer.cc)
add_library(hunch_fuzzed STATIC EXCLUDE_FROM_ALL ${fuzzed_sources})
target_include_directories(hunch_fuzzed PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(hunch_fuzzed PUBLIC spdlog::spdlog PRIVATE hunch_xgrammar)
target_compile_options(hunch_fuzzed PUBLIC
  -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
if(HUNCH_PRECOMPILE)
  target_precompile_headers(hunch_fuzzed PRIVATE ${HUNCH_PRECOMPILED})
endif()
target_compile_options(hunch_xgrammar PRIVATE -fsanitize=fuzzer-no-link,address)

add_custom_target(fuzz)
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*_fuzz.cc)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${name} PRIVATE hunch_fuzzed)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  add_dependencies(fuzz ${name})
endforeach()
