# What `cmake --install` leaves: the program, its heads, include/hunch, and one library with a package file, so that
# find_package(hunch) gives the target hunch::hunch. The library is session/ and all that it stands on, in one
# archive: the layers are nobody's business outside.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# `target` and what it links of ours, each once, in the global property HUNCH_ARCHIVED.
function(hunch_collect target)
  get_property(collected GLOBAL PROPERTY HUNCH_ARCHIVED)
  if("${target}" IN_LIST collected)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY HUNCH_ARCHIVED ${target})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    get_target_property(linked ${target} INTERFACE_LINK_LIBRARIES)
  else()
    get_target_property(linked ${target} LINK_LIBRARIES)
  endif()
  foreach(library IN LISTS linked)
    if(library MATCHES "^hunch_")
      hunch_collect(${library})
    endif()
  endforeach()
endfunction()

hunch_collect(hunch_session)
get_property(archived GLOBAL PROPERTY HUNCH_ARCHIVED)
add_library(hunch_library STATIC)
foreach(target IN LISTS archived)
  get_target_property(type ${target} TYPE)
  get_target_property(imported ${target} IMPORTED)
  if(imported)
    # Its objects are in an archive already.
    set(script ${CMAKE_BINARY_DIR}/add_${target}.mri)
    file(GENERATE OUTPUT ${script} CONTENT
      "OPEN $<TARGET_FILE:hunch_library>\nADDLIB $<TARGET_FILE:${target}>\nSAVE\nEND\n")
    add_custom_command(TARGET hunch_library POST_BUILD COMMAND sh -c "${CMAKE_AR} -M <${script}" VERBATIM)
  elseif(type STREQUAL "STATIC_LIBRARY")
    target_sources(hunch_library PRIVATE $<TARGET_OBJECTS:${target}>)
  endif()
endforeach()
set_target_properties(hunch_library PROPERTIES OUTPUT_NAME hunch EXPORT_NAME hunch LINKER_LANGUAGE CXX)
target_include_directories(hunch_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(hunch_library INTERFACE cxx_std_20)
# The same as in hunchConfig.cmake.in.
target_link_libraries(hunch_library INTERFACE Threads::Threads spdlog::spdlog PkgConfig::UTF8PROC)
if(HUNCH_SANITIZE)
  target_link_options(hunch_library INTERFACE -fsanitize=${HUNCH_SANITIZE})
endif()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/hunch)
install(TARGETS hunch RUNTIME)
# The program looks for them beside itself: here, and in the build folder (src/apps/main.cc).
set(heads_folder ${CMAKE_INSTALL_DATADIR}/hunch/heads)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/heads/ DESTINATION ${heads_folder} FILES_MATCHING PATTERN "*.gguf")
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/heads ${CMAKE_BINARY_DIR}/heads SYMBOLIC)
install(TARGETS hunch_library EXPORT hunch ARCHIVE)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/hunch TYPE INCLUDE)
install(EXPORT hunch NAMESPACE hunch:: DESTINATION ${package_folder} FILE hunchTargets.cmake)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/hunchConfig.cmake.in ${CMAKE_BINARY_DIR}/hunchConfig.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS heads_folder)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/hunchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/hunchConfig.cmake ${CMAKE_BINARY_DIR}/hunchConfigVersion.cmake
  DESTINATION ${package_folder})
