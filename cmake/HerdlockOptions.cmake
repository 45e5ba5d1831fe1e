# Language level, warnings, ccache, sanitizers: one place for all targets.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(HERDLOCK_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()

find_program(HERDLOCK_CCACHE ccache)
if(HERDLOCK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HERDLOCK_CCACHE})
endif()

add_library(herdlock_options INTERFACE)
target_compile_options(herdlock_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor $<$<BOOL:${HERDLOCK_WERROR}>:-Werror>)
if(HERDLOCK_SANITIZE)
  # Without recovery, so that undefined behaviour ends the test that shows it.
  add_compile_options(-fsanitize=${HERDLOCK_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${HERDLOCK_SANITIZE})
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
