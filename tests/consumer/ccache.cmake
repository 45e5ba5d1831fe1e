# A home that cannot be written does not break a build: cmake -P ccache.cmake with SOURCE_DIR,
# COMPILER, HOME_WORKS. Run in a folder of its own.
cmake_minimum_required(VERSION 3.25)
include(${SOURCE_DIR}/cmake/HerdlockCcache.cmake)
herdlock_working_ccache(launcher ${COMPILER})
find_program(there ccache)
if(HOME_WORKS AND there AND NOT launcher)
  message(FATAL_ERROR "ccache is not used although it works")
elseif(NOT HOME_WORKS AND launcher)
  message(FATAL_ERROR "ccache is used although it cannot write its cache")
endif()
