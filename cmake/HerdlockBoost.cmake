# Boost 1.88 headers or newer: the system's if it has them, else those that `./dev setup` unpacked
# under build/deps. Header-only use; SYSTEM, so that its warnings are not ours.
include(HerdlockFindBoost)
set(HERDLOCK_BOOST_INCLUDE_DIR "" CACHE PATH
    "Where <boost/version.hpp> of Boost 1.88 or newer is, if CMake cannot find it by itself")

herdlock_find_boost(herdlock_boost_dir "${PROJECT_SOURCE_DIR}/build/deps/boost/usr/include")
if(NOT herdlock_boost_dir)
  message(FATAL_ERROR "herdlock needs Boost 1.88 headers or newer: run ./dev setup, "
                      "or set HERDLOCK_BOOST_INCLUDE_DIR")
endif()
message(STATUS "Boost headers: ${herdlock_boost_dir}")

add_library(herdlock_boost INTERFACE)
# The compiler's own directory must not be named again: GCC's #include_next depends on its place.
if(NOT herdlock_boost_dir STREQUAL "/usr/include")
  target_include_directories(herdlock_boost SYSTEM INTERFACE "${herdlock_boost_dir}")
endif()
target_link_libraries(herdlock_boost INTERFACE Threads::Threads)
