# The .debs, where dpkg is at home. A sanitizer would say nothing new.
find_program(HERDLOCK_DPKG dpkg-shlibdeps)
if(NOT HERDLOCK_DPKG OR HERDLOCK_SANITIZE OR NOT TARGET herdlock_cli OR NOT TARGET herdlock_lab)
  return()
endif()
add_test(NAME package
         COMMAND ${PROJECT_SOURCE_DIR}/tests/package/package_test.sh ${PROJECT_BINARY_DIR}
                 ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/package_test ${CMAKE_CPACK_COMMAND}
                 ${CMAKE_C_COMPILER})
set_tests_properties(package PROPERTIES LABELS extra TIMEOUT 180)
