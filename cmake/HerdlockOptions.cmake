# Language level, warnings, ccache, sanitizers: one place for all targets. A project that includes
# this one decides on all of that itself; herdlock_compiled says what the library needs anyhow.
set(HERDLOCK_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_STANDARD 20)
  set(CMAKE_CXX_STANDARD_REQUIRED ON)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(CMAKE_CXX_VISIBILITY_PRESET hidden)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
  endif()
  if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    include(HerdlockCcache)
    herdlock_working_ccache(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER})
  endif()
endif()

# Into a shared library, too: libherdlock_c.so, or a plug-in of somebody's, which does not show our
# symbols on. As shared libraries the components use each other's inside: then all is visible.
function(herdlock_compiled target)
  set(visibility hidden)
  if(BUILD_SHARED_LIBS)
    set(visibility default)
  endif()
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET ${visibility})
endfunction()

# All sources of one target are compiled as one: most of a source's compile time is templates that
# its neighbours need as well. Like the precompiled header only a matter of build time: the clang
# preset and a build without presets compile each source alone. Two sources that use a name of their
# own for different things do not go together; the second one is then excepted with
# herdlock_compile_alone. Who builds again after each change of a line wants fewer in one.
set(HERDLOCK_JOINT_SOURCES 0 CACHE STRING
    "With HERDLOCK_PCH: how many sources are compiled as one; 0: all of a target")
if(HERDLOCK_PCH)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE ${HERDLOCK_JOINT_SOURCES})
  # The warning is of coroutines whose frames hold a source's own types; the joint source is no
  # header of theirs.
  # A joint source's memory is collected once or never: 8 % of its time, for a quarter more memory.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>
                      "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=2000000>")
endif()
function(herdlock_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

add_library(herdlock_options INTERFACE)
# Ours is written without what Asio deprecates, and says `asio::` for `boost::asio::`. The public
# headers compile with it and without: it is for their users to say.
target_compile_definitions(herdlock_options INTERFACE
  BOOST_ASIO_NO_DEPRECATED HERDLOCK_OWN_SOURCES)
target_compile_options(herdlock_options INTERFACE
  -Wall -Wextra -Wpedantic -Wnon-virtual-dtor $<$<BOOL:${HERDLOCK_WERROR}>:-Werror>)
# It takes the frames of coroutines for memory of another kind.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(herdlock_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-mismatched-new-delete>)
endif()
# In a joint source it would tell of names that are in two sources.
target_compile_options(herdlock_options INTERFACE
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)
if(HERDLOCK_SANITIZE)
  # Without recovery, so that undefined behaviour ends the test that shows it.
  add_compile_options(-fsanitize=${HERDLOCK_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g1)
  # A tenth of the time that such a build takes, for two checks at each pointer. What reads through
  # a null pointer ends without them, too; a null reference that nobody reads is not seen.
  if(HERDLOCK_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=null,alignment)
  endif()
  add_link_options(-fsanitize=${HERDLOCK_SANITIZE})
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
