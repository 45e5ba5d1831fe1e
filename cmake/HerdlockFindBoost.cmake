# Finds the headers of Boost 1.88 or newer. Used by the build and, installed beside
# herdlockConfig.cmake, by every consumer, so that both look in the same places.
set(HERDLOCK_BOOST_MINIMUM 108800)

# Sets `out` to the BOOST_VERSION number of the headers in `dir`, 0 when there are none.
function(herdlock_boost_version dir out)
  set(${out} 0 PARENT_SCOPE)
  if(dir AND EXISTS "${dir}/boost/version.hpp")
    file(STRINGS "${dir}/boost/version.hpp" line REGEX "^#define BOOST_VERSION [0-9]+")
    string(REGEX MATCH "[0-9]+$" version "${line}")
    set(${out} ${version} PARENT_SCOPE)
  endif()
endfunction()

# Sets `out` to the first directory with new enough headers, or to "". In order: what the user
# names in HERDLOCK_BOOST_INCLUDE_DIR, what CMake finds (CMAKE_PREFIX_PATH, the system), and the
# further directories given.
function(herdlock_find_boost out)
  find_path(HERDLOCK_SYSTEM_BOOST boost/version.hpp
            HINTS ${Boost_INCLUDE_DIR} ${BOOST_ROOT}/include)
  mark_as_advanced(HERDLOCK_SYSTEM_BOOST)
  set(${out} "" PARENT_SCOPE)
  foreach(dir IN LISTS HERDLOCK_BOOST_INCLUDE_DIR HERDLOCK_SYSTEM_BOOST ARGN)
    herdlock_boost_version("${dir}" version)
    if(version GREATER_EQUAL HERDLOCK_BOOST_MINIMUM)
      set(${out} "${dir}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()
