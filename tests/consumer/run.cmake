# The installed package, used as its users do, or the sources within a project: cmake -P run.cmake
# with STEP = install, find_package, pkg_config, redis_only, shared or subproject, and
# BUILD_DIR, SOURCE_DIR, WORK_DIR, BOOST_DIR, COMPILER, FLAGS.
cmake_minimum_required(VERSION 3.25)
set(prefix "${WORK_DIR}/prefix")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# As installed: every public header, the package files, no box of the house and no path of this
# machine in what consumers read.
function(check_installed)
  file(GLOB_RECURSE headers RELATIVE "${SOURCE_DIR}/include" "${SOURCE_DIR}/include/*.hpp")
  foreach(header IN LISTS headers)
    if(NOT EXISTS "${prefix}/include/${header}")
      message(FATAL_ERROR "${header} is not installed")
    endif()
  endforeach()
  file(GLOB_RECURSE texts "${prefix}/*.cmake" "${prefix}/*.pc")
  list(LENGTH texts count)
  if(count LESS 5)
    message(FATAL_ERROR "package files are missing; installed are only: ${texts}")
  endif()
  foreach(text IN LISTS texts)
    file(READ "${text}" content)
    if(content MATCHES "herdlock_(headers|options|boost|types|algo|runtime|pch)[^_]")
      message(FATAL_ERROR "${text} names a target that is not installed: ${CMAKE_MATCH_0}")
    endif()
    foreach(folder IN ITEMS "${SOURCE_DIR}" "${BUILD_DIR}")
      string(FIND "${content}" "${folder}" at)
      if(at GREATER_EQUAL 0)
        message(FATAL_ERROR "${text} names ${folder}")
      endif()
    endforeach()
  endforeach()
endfunction()

# The libraries that a program needs beside those of every C++ program are among these.
function(check_needed program allowed)
  execute_process(COMMAND readelf -d ${program} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "NEEDED[^\n]*" lines "${dynamic}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "\\[(.*)\\.so" library "${line}")
    if(NOT CMAKE_MATCH_1 MATCHES "^(libc|libm|libstdc\\+\\+|libgcc_s|ld-linux.*)$" AND
       NOT "${CMAKE_MATCH_1}.so" IN_LIST allowed)
      message(FATAL_ERROR "${program} needs ${CMAKE_MATCH_1}: ${lines}")
    endif()
  endforeach()
  message(STATUS "needed: ${lines}")
endfunction()

if(STEP STREQUAL "install")
  file(REMOVE_RECURSE "${WORK_DIR}")
  run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
  check_installed()
elseif(STEP STREQUAL "find_package")
  set(build "${WORK_DIR}/find_package")
  run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE_DIR}/tests/consumer -B ${build}
      -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS}
      -DHERDLOCK_BOOST_INCLUDE_DIR=${BOOST_DIR})
  run(${CMAKE_COMMAND} --build ${build})
  run(${build}/consumer)
elseif(STEP STREQUAL "redis_only")
  set(build "${WORK_DIR}/redis_only")
  set(configure ${CMAKE_COMMAND} --fresh -G Ninja -S ${SOURCE_DIR}/tests/consumer/redis_only
      -B ${build} -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${COMPILER}
      -DCMAKE_CXX_FLAGS=${FLAGS} -DHERDLOCK_BOOST_INCLUDE_DIR=${BOOST_DIR})
  execute_process(COMMAND ${configure} -DCOMPONENTS=redis_and_more
                  RESULT_VARIABLE refused OUTPUT_QUIET ERROR_VARIABLE why)
  if(NOT refused OR NOT why MATCHES "component[ \n]+redis_and_more;[ \n]+it[ \n]+has[ \n]+core")
    message(FATAL_ERROR "a component that does not exist is found, or not named: ${why}")
  endif()
  run(${configure} -DCOMPONENTS=redis)
  run(${CMAKE_COMMAND} --build ${build})
  run(${build}/redis_only)
  check_needed(${build}/redis_only "libssl.so;libcrypto.so")
elseif(STEP STREQUAL "shared")
  # The build itself is one of shared libraries.
  set(build "${WORK_DIR}/shared")
  run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${build}/prefix)
  run(${CMAKE_COMMAND} --fresh -G Ninja -S ${SOURCE_DIR}/tests/consumer/shared -B ${build}/user
      -DCMAKE_PREFIX_PATH=${build}/prefix -DCMAKE_CXX_COMPILER=${COMPILER}
      -DHERDLOCK_BOOST_INCLUDE_DIR=${BOOST_DIR})
  run(${CMAKE_COMMAND} --build ${build}/user)
  run(${build}/user/shared)
  # The plug-in's own copy of the type information is one with the others'.
  execute_process(COMMAND nm -DC ${build}/user/libplugin.so OUTPUT_VARIABLE symbols
                  COMMAND_ERROR_IS_FATAL ANY)
  if(NOT symbols MATCHES "V typeinfo for herdlock::(v0::)?error")
    message(FATAL_ERROR "the type of herdlock::error is hidden in a library that throws it")
  endif()
elseif(STEP STREQUAL "subproject")
  # Configured whole; of the library only a user's source is compiled.
  set(build "${WORK_DIR}/subproject")
  run(${CMAKE_COMMAND} --fresh -G Ninja -S ${SOURCE_DIR}/tests/consumer/subproject -B ${build}
      -DHERDLOCK_SOURCE_DIR=${SOURCE_DIR} -DCMAKE_CXX_COMPILER=${COMPILER}
      -DCMAKE_CXX_FLAGS=${FLAGS} -DHERDLOCK_BOOST_INCLUDE_DIR=${BOOST_DIR})
  run(${CMAKE_COMMAND} --build ${build} --target user)
elseif(STEP STREQUAL "pkg_config")
  file(GLOB_RECURSE pc "${prefix}/*/herdlock.pc")
  cmake_path(GET pc PARENT_PATH pc_dir)
  set(ENV{PKG_CONFIG_PATH} "${pc_dir}")
  execute_process(COMMAND pkg-config --cflags --libs herdlock OUTPUT_VARIABLE options
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(options UNIX_COMMAND "${options}")
  separate_arguments(flags UNIX_COMMAND "${FLAGS}")
  run(${COMPILER} -std=c++20 ${flags} -isystem ${BOOST_DIR} ${SOURCE_DIR}/tests/consumer/main.cpp
      -o ${WORK_DIR}/by_pkg_config ${options})
  run(${WORK_DIR}/by_pkg_config)
else()
  message(FATAL_ERROR "no step '${STEP}'")
endif()
