# GTest::gtest, GTest::gmock and GTest::gtest_main for a foreign machine, from the sources that
# libgtest-dev brings: Debian's built libraries are this machine's.
set(source /usr/src/googletest)
add_library(hunch_gtest STATIC EXCLUDE_FROM_ALL ${source}/googletest/src/gtest-all.cc ${source}/googletest/src/gtest_main.cc)
target_include_directories(hunch_gtest SYSTEM PUBLIC ${source}/googletest/include ${source}/googlemock/include)
target_include_directories(hunch_gtest PRIVATE ${source}/googletest)
target_compile_options(hunch_gtest PRIVATE -w)
target_link_libraries(hunch_gtest PUBLIC Threads::Threads)
foreach(name gtest gmock gtest_main)
  add_library(GTest::${name} ALIAS hunch_gtest)
endforeach()
