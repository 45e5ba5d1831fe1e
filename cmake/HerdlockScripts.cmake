# Lua for Redis. FOLDER/NAME.lua is a script, FOLDER/parts/NAME.lua a part of several. In either, a
# line
#
#     --@include parts/NAME.lua
#
# that begins in the first column stands for the text of that file. cmake/ComposeScripts.cmake puts
# the texts together, whenever one of them changes:
#
#   build tree/scripts/NAME.lua      whole, with its comments; for `redis-cli --eval` and luacheck
#   herdlock::redis::lua::NAME       what the server is sent: without the lines that are comments
#
# "stores/redis/script_texts.hpp", which is generated, declares the constants.

# herdlock_scripts(BOX FOLDER): the scripts of the folder become a part of the box. The target
# BOX_scripts makes nothing but them.
function(herdlock_scripts box folder)
  file(GLOB scripts CONFIGURE_DEPENDS ${folder}/*.lua)
  file(GLOB parts CONFIGURE_DEPENDS ${folder}/parts/*.lua)
  set(composed "")
  set(constants "")
  foreach(script IN LISTS scripts)
    get_filename_component(name ${script} NAME_WE)
    list(APPEND composed ${PROJECT_BINARY_DIR}/scripts/${name}.lua)
    string(APPEND constants "extern std::string_view const ${name};\n")
  endforeach()

  set(generated ${PROJECT_BINARY_DIR}/generated)
  file(CONFIGURE OUTPUT ${generated}/stores/redis/script_texts.hpp @ONLY CONTENT
"// Made by cmake/HerdlockScripts.cmake: the Lua that a server is sent.
#pragma once

#include <string_view>

namespace herdlock::redis::lua {

@constants@
}  // namespace herdlock::redis::lua
")
  set(source ${generated}/stores/redis/script_texts.cpp)
  set(composer ${PROJECT_SOURCE_DIR}/cmake/ComposeScripts.cmake)
  add_custom_command(OUTPUT ${source} ${composed}
    COMMAND ${CMAKE_COMMAND} -D FROM=${folder} -D TO=${PROJECT_BINARY_DIR}/scripts
            -D SOURCE=${source} -P ${composer}
    DEPENDS ${scripts} ${parts} ${composer}
    COMMENT "Composing the Lua scripts" VERBATIM)
  set_source_files_properties(${source} PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  target_sources(${box} PRIVATE ${source})
  target_include_directories(${box} PRIVATE ${generated})
  add_custom_target(${box}_scripts DEPENDS ${composed})
  add_dependencies(${box} ${box}_scripts)
endfunction()
