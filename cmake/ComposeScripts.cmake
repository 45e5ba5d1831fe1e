# cmake -D FROM=FOLDER -D TO=FOLDER -D SOURCE=FILE -P ComposeScripts.cmake: what
# HerdlockScripts.cmake says, at build time. The texts are never taken for lists (they hold brackets
# and semicolons): all is done on whole strings.
cmake_minimum_required(VERSION 3.25)

# A compiler may take literals of 16 KiB only, so a long text is several.
set(longest_literal 8000)

# The text of a script with all that it includes, and a line break in front.
function(compose file into)
  file(READ "${file}" text)
  string(PREPEND text "\n")
  while(text MATCHES "\n--@include ([^\n]*)\n")
    set(line "${CMAKE_MATCH_0}")
    set(part "${FROM}/${CMAKE_MATCH_1}")
    if(NOT EXISTS "${part}")
      message(FATAL_ERROR "${file} includes ${part}, which is not there")
    endif()
    file(READ "${part}" included)
    string(REPLACE "${line}" "\n\n${included}" text "${text}")
  endwhile()
  # In a text or a comment of several lines a line could begin as a comment does, and be none.
  if(text MATCHES "\\[=*\\[")
    message(FATAL_ERROR "${file}: no long brackets: lines in them may look like comments")
  endif()
  set(${into} "${text}" PARENT_SCOPE)
endfunction()

# Without the lines that are a comment or empty, as a C++ literal.
function(literal_of text into)
  string(REGEX REPLACE "\n *--[^\n]*" "" text "${text}")
  string(REGEX REPLACE "\n+" "\n" text "${text}")
  string(STRIP "${text}" text)
  string(LENGTH "${text}" length)
  set(pieces "")
  foreach(at RANGE 0 ${length} ${longest_literal})
    string(SUBSTRING "${text}" ${at} ${longest_literal} piece)
    string(APPEND pieces "\n    R\"lua(${piece})lua\"")
  endforeach()
  set(${into} "${pieces}" PARENT_SCOPE)
endfunction()

file(GLOB old "${TO}/*.lua")
if(old)
  file(REMOVE ${old})
endif()
set(constants "")
file(GLOB scripts "${FROM}/*.lua")
foreach(script IN LISTS scripts)
  get_filename_component(name "${script}" NAME_WE)
  compose("${script}" text)
  file(WRITE "${TO}/${name}.lua" "-- Made of scripts/${name}.lua and the parts that it includes."
                                 " Change those.\n--${text}")
  literal_of("${text}" literal)
  string(APPEND constants "\nconstinit std::string_view const ${name} =${literal};\n")
endforeach()
file(WRITE "${SOURCE}" "// Made by cmake/ComposeScripts.cmake.
#include \"stores/redis/script_texts.hpp\"

namespace herdlock::redis::lua {
${constants}
}  // namespace herdlock::redis::lua
")
