# One static library per folder of src/, linked to the folders that docs/layers.txt lets it include.
# What a library may not include it also cannot link.

# Libraries from outside, by folder.
set(HUNCH_EXTERNAL_base Threads::Threads spdlog::spdlog)
set(HUNCH_EXTERNAL_tokenizer PkgConfig::UTF8PROC)
set(HUNCH_EXTERNAL_chat nlohmann_json::nlohmann_json)
set(HUNCH_EXTERNAL_grammar nlohmann_json::nlohmann_json)
# Those whose headers only the folder itself sees.
set(HUNCH_INTERNAL_grammar hunch_xgrammar)
set(HUNCH_EXTERNAL_server Boost::headers prometheus-cpp::core)
set(HUNCH_EXTERNAL_apps nlohmann_json::nlohmann_json)

# What most sources of the upper layers include, one way or another.
set(HUNCH_PRECOMPILED <algorithm> <fmt/format.h> <functional> <map> <memory> <nlohmann/json.hpp> <optional> <string> <vector>)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Where its headers are precompiled GCC warns of what std::string itself does (PR 105651 again).
  set(HUNCH_PRECOMPILED_OPTIONS -Wno-array-bounds -Wno-stringop-overflow)
endif()

function(hunch_set_isa_flags sources)
  foreach(source IN LISTS sources)
    if(source MATCHES "_avx2\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c")
    elseif(source MATCHES "_avx512\\.cc$")
      # GCC 12 warns of the deliberately undefined operand inside its own AVX-512 intrinsics (GCC PR 105593).
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "-Wno-maybe-uninitialized;-Wno-uninitialized;-mavx2;-mfma;-mf16c;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512vnni;-mprefer-vector-width=512")
    elseif(source MATCHES "_neon\\.cc$")
      # GCC 12 takes dotprod from armv8.2-a on only; every CPU that has it is one of these.
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-march=armv8.2-a+dotprod")
    endif()
  endforeach()
endfunction()

function(hunch_add_layer name dependencies)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(FILTER sources EXCLUDE REGEX "_(avx2|avx512)\\.cc$")
  endif()
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    list(FILTER sources EXCLUDE REGEX "_neon\\.cc$")
  endif()
  # What is built on PyTorch, and the program that runs it: cmake/train.cmake.
  list(FILTER sources EXCLUDE REGEX "(_torch|/train_main)\\.cc$")
  set(main ${CMAKE_SOURCE_DIR}/src/${name}/main.cc)
  list(REMOVE_ITEM sources ${main})
  if(sources)
    add_library(hunch_${name} STATIC ${sources})
    hunch_set_isa_flags("${sources}")
    if(HUNCH_PRECOMPILE AND name MATCHES "^(chat|grammar|session|server|apps)$")
      target_precompile_headers(hunch_${name} PRIVATE ${HUNCH_PRECOMPILED})
      target_compile_options(hunch_${name} PRIVATE ${HUNCH_PRECOMPILED_OPTIONS})
    endif()
    if(HUNCH_SANITIZE AND name MATCHES "^(quant|kernels|sampling|model)$")
      # Here sanitized tests spend their time.
      target_compile_options(hunch_${name} PRIVATE -O2)
    endif()
    if(HUNCH_SANITIZE MATCHES "undefined" AND name STREQUAL "kernels")
      # All of UBSan takes the unrolled tiles half as long again to compile; pointers are AddressSanitizer's.
      target_compile_options(hunch_${name} PRIVATE
        -fno-sanitize=undefined -fsanitize=bounds,shift,signed-integer-overflow)
    endif()
    set(scope PUBLIC)
  else()
    add_library(hunch_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(hunch_${name} ${scope} ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  foreach(dependency IN LISTS dependencies)
    target_link_libraries(hunch_${name} ${scope} hunch_${dependency})
  endforeach()
  if(HUNCH_EXTERNAL_${name})
    target_link_libraries(hunch_${name} ${scope} ${HUNCH_EXTERNAL_${name}})
  endif()
  if(HUNCH_INTERNAL_${name})
    target_link_libraries(hunch_${name} PRIVATE ${HUNCH_INTERNAL_${name}})
  endif()
  if(EXISTS ${main})
    add_executable(hunch ${main})
    target_link_libraries(hunch PRIVATE hunch_${name})
    # ENABLE_EXPORTS: the watchdog's stack has names.
    set_target_properties(hunch PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} ENABLE_EXPORTS ON)
  endif()
endfunction()

macro(hunch_add_layers)
  file(STRINGS ${CMAKE_SOURCE_DIR}/docs/layers.txt layer_lines REGEX "^[a-z]+:")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/layers.txt)
  foreach(line IN LISTS layer_lines)
    string(REGEX MATCH "^[a-z]+" layer "${line}")
    string(REGEX REPLACE "^[a-z]+: *" "" layer_dependencies "${line}")
    separate_arguments(layer_dependencies)
    if(NOT HUNCH_LAYERS OR layer IN_LIST HUNCH_LAYERS)
      hunch_add_layer(${layer} "${layer_dependencies}")
    endif()
  endforeach()
endmacro()
