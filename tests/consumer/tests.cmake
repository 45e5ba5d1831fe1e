# Installs into the build tree and builds a consumer against it, both ways. Included from
# the top: the folder's own CMakeLists.txt is the consumer's. A sanitizer would say nothing new.
if(HERDLOCK_SANITIZE)
  return()
endif()
function(consumer_test step)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  set(flags "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  string(STRIP "${flags}" flags)
  add_test(NAME consumer.${step}
           COMMAND ${CMAKE_COMMAND} -D STEP=${step} -D BUILD_DIR=${PROJECT_BINARY_DIR}
                   -D SOURCE_DIR=${PROJECT_SOURCE_DIR} -D WORK_DIR=${PROJECT_BINARY_DIR}/consumer
                   -D BOOST_DIR=${herdlock_boost_dir} -D COMPILER=${CMAKE_CXX_COMPILER}
                   "-DFLAGS=${flags}" -P ${PROJECT_SOURCE_DIR}/tests/consumer/run.cmake)
  set_tests_properties(consumer.${step} PROPERTIES LABELS extra)
endfunction()

# Of a build of shared libraries, which is the plain one, this alone: the rest is the same.
if(BUILD_SHARED_LIBS)
  consumer_test(shared)
  return()
endif()
# Nobody, root neither, makes a folder under /proc.
foreach(home IN ITEMS /proc ${PROJECT_BINARY_DIR}/consumer_home)
  string(COMPARE NOTEQUAL ${home} /proc works)
  add_test(NAME consumer.ccache_${works}
           COMMAND ${CMAKE_COMMAND} -E env --unset=CCACHE_DIR --unset=XDG_CACHE_HOME
                   --unset=CCACHE_CONFIGPATH HOME=${home} ${CMAKE_COMMAND}
                   -D SOURCE_DIR=${PROJECT_SOURCE_DIR} -D COMPILER=${CMAKE_CXX_COMPILER}
                   -D HOME_WORKS=${works} -P ${PROJECT_SOURCE_DIR}/tests/consumer/ccache.cmake
           WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
endforeach()
consumer_test(install)
consumer_test(find_package)
consumer_test(pkg_config)
consumer_test(subproject)
if(HERDLOCK_REDIS)
  consumer_test(redis_only)
  set_tests_properties(consumer.redis_only PROPERTIES FIXTURES_REQUIRED installed)
endif()
set_tests_properties(consumer.install PROPERTIES FIXTURES_SETUP installed)
set_tests_properties(consumer.find_package consumer.pkg_config PROPERTIES
                     FIXTURES_REQUIRED installed)
