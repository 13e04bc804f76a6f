# Which C++ compiler, before project() asks for one; where there is none, it is said what to install.
# A CXX of the user's is never replaced. On Windows CMake finds Visual Studio by itself.
if(CMAKE_HOST_WIN32 OR CMAKE_CXX_COMPILER OR CMAKE_TOOLCHAIN_FILE)
  return()
endif()

separate_arguments(asked_words UNIX_COMMAND "$ENV{CXX}")
if(asked_words)
  list(GET asked_words 0 asked)
  find_program(PSVM_ASKED_COMPILER "${asked}")
  set(found_asked "${PSVM_ASKED_COMPILER}")
  unset(PSVM_ASKED_COMPILER CACHE)
  if(NOT found_asked)
    message(FATAL_ERROR
      "\n  The environment variable CXX names the compiler '${asked}', which is not installed.\n"
      "  Name one that is, or unset CXX to have one looked for.\n")
  endif()
  return()
endif()

set(compilers c++ g++ clang++)
foreach(version RANGE 30 11 -1)
  list(APPEND compilers g++-${version} clang++-${version})
endforeach()
find_program(PSVM_FOUND_COMPILER NAMES ${compilers})
set(found "${PSVM_FOUND_COMPILER}")
unset(PSVM_FOUND_COMPILER CACHE)
if(NOT found)
  message(FATAL_ERROR
    "\n  psvm is compiled here, and needs a C++20 compiler; there is none on PATH. Install one:\n"
    "    Debian, Ubuntu   apt install g++\n"
    "    Fedora, RHEL     dnf install gcc-c++\n"
    "    Alpine           apk add g++\n"
    "    Arch             pacman -S gcc\n"
    "    macOS            xcode-select --install\n"
    "    conda            conda install cxx-compiler\n"
    "  clang++ will do as well. A compiler elsewhere is named by the environment variable CXX.\n"
    "  A wheel (psvm-....whl) for your machine and Python needs none of this.\n")
endif()
message(STATUS "C++ compiler: ${found}")
set(ENV{CXX} "${found}")
