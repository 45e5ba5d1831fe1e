# herdlock_working_ccache(result compiler): ccache, when it is there and can write its cache; else
# empty. It cannot where the home of whoever builds is missing or read-only (containers, `nobody`,
# services), and each compilation would end with its error.
function(herdlock_working_ccache result compiler)
  set(${result} "" PARENT_SCOPE)
  find_program(HERDLOCK_CCACHE ccache)
  if(NOT HERDLOCK_CCACHE)
    return()
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/ccache_works")
  file(WRITE "${folder}/nothing.cpp" "int nothing;\n")
  execute_process(
    COMMAND ${HERDLOCK_CCACHE} ${compiler} -c nothing.cpp -o nothing.o
    WORKING_DIRECTORY "${folder}" RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE why)
  if(status EQUAL 0)
    set(${result} ${HERDLOCK_CCACHE} PARENT_SCOPE)
  else()
    string(REGEX REPLACE "\n.*" "" why "${why}")
    message(STATUS "without ccache, which does not work here (set CCACHE_DIR): ${why}")
  endif()
endfunction()
