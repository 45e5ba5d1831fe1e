# Precompiled headers for everything that includes Boost.Asio. It is only a matter of build time:
# the clang preset and the header check build without them, so no source may lean on them.
#
# The compiler takes a precompiled header only for code of its own kind: libraries are -fPIC,
# programs -fPIE, and tests have options of their own, those of the folder that this is called in.

# herdlock_pch_for_programs(NAME) makes the one that programs are to use, of the options here.
function(herdlock_pch_for_programs name)
  add_executable(${name} EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/pch_main.cpp)
  target_link_libraries(${name} PRIVATE herdlock_headers herdlock_options)
  target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch.hpp)
endfunction()

# Calls herdlock_use_pch for each compiled target of a directory and below it.
function(herdlock_pch_below dir programs)
  if(dir STREQUAL "${PROJECT_SOURCE_DIR}/tests")
    set(programs herdlock_pch_tests)
  endif()
  get_property(targets DIRECTORY ${dir} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    herdlock_use_pch(${target} ${programs})
  endforeach()
  get_property(subdirectories DIRECTORY ${dir} PROPERTY SUBDIRECTORIES)
  foreach(subdirectory IN LISTS subdirectories)
    herdlock_pch_below(${subdirectory} ${programs})
  endforeach()
endfunction()

# Libraries of the tests go without.
function(herdlock_use_pch target programs)
  get_target_property(type ${target} TYPE)
  get_target_property(sources ${target} SOURCES)
  if(target MATCHES "^herdlock_pch" OR NOT sources MATCHES "\\.cpp")
    return()
  endif()
  if(type STREQUAL "EXECUTABLE")
    target_precompile_headers(${target} REUSE_FROM ${programs})
  elseif(type MATCHES "^(STATIC_LIBRARY|OBJECT_LIBRARY)$" AND programs STREQUAL
                                                             "herdlock_pch_programs")
    target_precompile_headers(${target} REUSE_FROM herdlock_pch)
  endif()
endfunction()

# Once all targets are known.
function(herdlock_use_pch_everywhere)
  add_library(herdlock_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/pch.cpp)
  target_link_libraries(herdlock_pch PUBLIC herdlock_headers PRIVATE herdlock_options)
  herdlock_compiled(herdlock_pch)
  target_precompile_headers(herdlock_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch.hpp)
  herdlock_pch_for_programs(herdlock_pch_programs)
  herdlock_pch_below(${PROJECT_SOURCE_DIR} herdlock_pch_programs)
endfunction()
