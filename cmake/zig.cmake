# PyPI's ziglang as the compiler: Clang with the headers of any glibc, for any machine. `make wheel
# ZIG=aarch64-linux-gnu.2.28` sets ZIG to its program and ZIG_TARGET to the machine and glibc.
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "$ENV{ZIG_TARGET}")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_CXX_COMPILER "$ENV{ZIG}" c++ -target "$ENV{ZIG_TARGET}")
set(CMAKE_CXX_ARCHIVE_CREATE "$ENV{ZIG} ar qc <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "$ENV{ZIG} ar q <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "$ENV{ZIG} ranlib <TARGET>")
