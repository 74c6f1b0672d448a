# hunch-train: what is built on PyTorch's C++ library, Debian's (libtorch-dev) or that of a wheel from PyPI. Its own
# package files ask for more than is used here (protobuf; of a wheel CUDA), so they are not looked at.
set(HUNCH_TORCH "" CACHE PATH "Folder that holds PyTorch's include and lib (in a wheel: torch); empty: the system's")

if(HUNCH_TORCH)
  set(torch_hints HINTS ${HUNCH_TORCH} NO_DEFAULT_PATH)
endif()
find_path(HUNCH_TORCH_HEADERS ATen/ATen.h PATH_SUFFIXES include ${torch_hints})
add_library(hunch_torch INTERFACE)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/torch_headers)
foreach(name torch_cpu c10)
  find_library(HUNCH_LIB_${name} ${name} PATH_SUFFIXES lib ${torch_hints})
  if(NOT HUNCH_LIB_${name} OR NOT HUNCH_TORCH_HEADERS)
    message(FATAL_ERROR "HUNCH_TRAIN needs PyTorch's C++ library: run scripts/setup_train, or set HUNCH_TORCH")
  endif()
  target_link_libraries(hunch_torch INTERFACE ${HUNCH_LIB_${name}})
endforeach()
if(HUNCH_TORCH)
  # Its own headers alone, before the system's: a wheel brings those of other libraries too, fmt's among them.
  foreach(folder ATen c10 caffe2 torch)
    file(CREATE_LINK ${HUNCH_TORCH_HEADERS}/${folder} ${CMAKE_BINARY_DIR}/torch_headers/${folder} SYMBOLIC)
  endforeach()
  target_include_directories(hunch_torch SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/torch_headers)
  # A wheel's libraries name CUDA's, which lie in other wheels beside it or nowhere.
  target_link_options(hunch_torch INTERFACE -Wl,--allow-shlib-undefined)
endif()

# Of several BLAS, OpenBLAS on OpenMP: its threads are those that PyTorch computes everything else with. Threads of its
# own and PyTorch's wait in a loop for work, each on the other's CPUs (Zen 3, 2 CPUs: a small update took
# 0.52 s instead of 0.17). What the program itself names is loaded before what PyTorch names, and its folder is kept.
foreach(name blas.so.3 openblas.so.0)
  find_library(HUNCH_LIB_${name} lib${name} PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp NO_DEFAULT_PATH)
  if(HUNCH_LIB_${name} AND NOT HUNCH_TORCH)
    # Although nothing of it is called from here.
    target_link_libraries(hunch_torch INTERFACE -Wl,--push-state,--no-as-needed ${HUNCH_LIB_${name}} -Wl,--pop-state)
  endif()
endforeach()

file(GLOB torch_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/train/*_torch.cc)
add_library(hunch_train_torch STATIC ${torch_sources})
target_link_libraries(hunch_train_torch PUBLIC hunch_train hunch_torch)

add_executable(hunch-train ${CMAKE_SOURCE_DIR}/src/apps/train_main.cc)
target_link_libraries(hunch-train PRIVATE hunch_apps hunch_train_torch)
set_target_properties(hunch-train PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
# A wheel's libraries lie where no loader looks.
set_target_properties(hunch-train PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
include(GNUInstallDirs)
install(TARGETS hunch-train RUNTIME)
