# Cross-compiles for 64-bit ARM with Debian's g++-aarch64-linux-gnu and runs tests under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

# Of the libraries only headers are used, this machine's own, looked at after the cross compiler's.
set(CMAKE_CXX_FLAGS_INIT "-idirafter /usr/include -DSPDLOG_FMT_EXTERNAL")
