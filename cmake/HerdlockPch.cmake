# One precompiled header for everything that includes Boost.Asio. It is only a matter of build
# time: the clang preset and the header check build without it, so no source may lean on it.
add_library(herdlock_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/pch.cpp)
target_link_libraries(herdlock_pch PUBLIC herdlock_headers PRIVATE herdlock_options)
target_precompile_headers(herdlock_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch.hpp)

# The compiler takes a precompiled header only for code of its own kind: libraries are -fPIC,
# programs -fPIE.
add_executable(herdlock_pch_programs EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/pch_main.cpp)
target_link_libraries(herdlock_pch_programs PRIVATE herdlock_headers herdlock_options)
target_precompile_headers(herdlock_pch_programs PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch.hpp)

# Calls herdlock_use_pch for each compiled target of a directory and below it. Not the tests: they
# have other options, and their joint sources gain nothing by it.
function(herdlock_pch_below dir)
  if(dir STREQUAL "${PROJECT_SOURCE_DIR}/tests")
    return()
  endif()
  get_property(targets DIRECTORY ${dir} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    herdlock_use_pch(${target})
  endforeach()
  get_property(subdirectories DIRECTORY ${dir} PROPERTY SUBDIRECTORIES)
  foreach(subdirectory IN LISTS subdirectories)
    herdlock_pch_below(${subdirectory})
  endforeach()
endfunction()

function(herdlock_use_pch target)
  get_target_property(type ${target} TYPE)
  get_target_property(sources ${target} SOURCES)
  if(type MATCHES "^(EXECUTABLE|STATIC_LIBRARY|OBJECT_LIBRARY)$" AND sources MATCHES "\\.cpp"
     AND NOT target MATCHES "^herdlock_pch")
    if(type STREQUAL "EXECUTABLE")
      target_precompile_headers(${target} REUSE_FROM herdlock_pch_programs)
    else()
      target_precompile_headers(${target} REUSE_FROM herdlock_pch)
    endif()
  endif()
endfunction()

herdlock_pch_below(${PROJECT_SOURCE_DIR})
