# Install and export: the library, its headers, the programs, find_package(herdlock) and pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/herdlock")

# herdlock_how_to_find(library find pc flags): how a user of the library finds a client library:
# the lines for CMake, the name of its .pc file, or else its flags. A new one fails here until it
# is known.
function(herdlock_how_to_find library find pc flags)
  set(${pc} "" PARENT_SCOPE)
  set(${flags} "" PARENT_SCOPE)
  if(library STREQUAL "SQLite::SQLite3")
    set(${find} "find_dependency(SQLite3)" PARENT_SCOPE)
    set(${pc} sqlite3 PARENT_SCOPE)
  elseif(library STREQUAL "zookeeper_mt")  # has neither a CMake package nor a .pc file
    set(${find} "" PARENT_SCOPE)
    set(${flags} " -lzookeeper_mt" PARENT_SCOPE)
  elseif(library MATCHES "^OpenSSL::(SSL|Crypto)$")
    set(${find} "find_dependency(OpenSSL)" PARENT_SCOPE)
    set(${pc} openssl PARENT_SCOPE)
  elseif(library STREQUAL "PkgConfig::herdlock_mariadb")
    set(${find} "find_dependency(PkgConfig)
  pkg_check_modules(herdlock_mariadb REQUIRED IMPORTED_TARGET libmariadb)" PARENT_SCOPE)
    set(${pc} libmariadb PARENT_SCOPE)
  elseif(library STREQUAL "PostgreSQL::PostgreSQL")
    set(${find} "find_dependency(PostgreSQL)" PARENT_SCOPE)
    set(${pc} libpq PARENT_SCOPE)
  else()
    message(FATAL_ERROR "cmake/HerdlockInstall.cmake does not know how a user finds ${library}")
  endif()
endfunction()

# The .pc files find their prefix from their own place, so that `cmake --install --prefix` just
# works.
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(herdlock_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/prefix/${pc_dir}" "/prefix")
  set(herdlock_pc_prefix "\${pcfiledir}/${up}")
endif()

# herdlock_install_component(target): its library and its .pc file; and, appended to
# herdlock_find_dependencies, what herdlockConfig.cmake looks for when the component is asked for.
function(herdlock_install_component target)
  get_target_property(name ${target} EXPORT_NAME)
  get_target_property(needed ${target} LINK_LIBRARIES)
  list(FILTER needed EXCLUDE REGEX "BUILD_INTERFACE|^Threads::Threads$")
  list(REMOVE_DUPLICATES needed)
  set(finds "")
  set(requires "")
  set(private "")
  set(herdlock_pc_flags "")
  foreach(library IN LISTS needed)
    if(library MATCHES "^herdlock_(.*)_component$")
      list(APPEND requires herdlock-${CMAKE_MATCH_1})
    else()
      herdlock_how_to_find(${library} find pc flags)
      if(BUILD_SHARED_LIBS)  # a shared library brings its own along
        list(APPEND private ${pc})
      else()
        list(APPEND finds ${find})
        list(APPEND requires ${pc})
        string(APPEND herdlock_pc_flags "${flags}")
      endif()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES requires)
  list(JOIN requires ", " herdlock_pc_requires)
  list(REMOVE_DUPLICATES private)
  list(JOIN private ", " herdlock_pc_private)
  if(finds)
    list(REMOVE_DUPLICATES finds)
    list(JOIN finds "\n  " finds)
    set(herdlock_find_dependencies "${herdlock_find_dependencies}\
if(${name} IN_LIST herdlock_wanted)\n  ${finds}\nendif()\n" PARENT_SCOPE)
  endif()
  if(name STREQUAL herdlock)
    set(herdlock_pc_name herdlock)
    set(herdlock_pc_library herdlock)
  else()
    set(herdlock_pc_name herdlock-${name})
    set(herdlock_pc_library herdlock_${name})
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/herdlock.pc.in
                 ${PROJECT_BINARY_DIR}/package/${herdlock_pc_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${herdlock_pc_name}.pc DESTINATION ${pc_dir})
  install(TARGETS ${target} EXPORT herdlockTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

get_property(components GLOBAL PROPERTY herdlock_components)
set(herdlock_built "")
set(herdlock_find_dependencies "")
foreach(component IN LISTS components)
  herdlock_install_component(${component})
  get_target_property(name ${component} EXPORT_NAME)
  list(APPEND herdlock_built ${name})
endforeach()
list(JOIN herdlock_built " " herdlock_built)

if(TARGET herdlock_shared)
  install(TARGETS herdlock_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/herdlock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(EXPORT herdlockTargets NAMESPACE herdlock:: DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET herdlock_cli OR TARGET herdlock_lab)
  include(HerdlockProgram)
endif()
if(TARGET herdlock_cli)
  herdlock_install_program(herdlock_cli herdlock Unspecified)  # with the library
  install(FILES ${PROJECT_SOURCE_DIR}/examples/herdlock-worker.service
                ${PROJECT_SOURCE_DIR}/examples/herdlock-report.cron
          DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
endif()
# Neither the library nor the command needs it: a package of its own.
if(TARGET herdlock_lab)
  herdlock_install_program(herdlock_lab herdlock-lab lab)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE COMPONENT lab
          DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/herdlock-lab)
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/herdlockConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/herdlockConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/herdlockConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/herdlockConfig.cmake
              ${PROJECT_BINARY_DIR}/package/herdlockConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/HerdlockFindBoost.cmake
        DESTINATION ${package_dir})

# `cpack` in the build folder: a .deb with everything that is installed but herdlock-lab, which has
# one of its own.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME herdlock)
set(CPACK_PACKAGE_VENDOR herdlock)
set(CPACK_PACKAGE_CONTACT "herdlock <herdlock@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL Unspecified)
if(TARGET herdlock_lab)
  list(APPEND CPACK_COMPONENTS_ALL lab)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME herdlock)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LAB_PACKAGE_NAME herdlock-lab)
set(CPACK_DEBIAN_LAB_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_LAB_DESCRIPTION
    "Scenes that show what herdlock does, try it for long, and measure it")
# The programs and the C library; who compiles against the headers needs the rest.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_RECOMMENDS "libsqlite3-dev, libssl-dev")
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_SUGGESTS "libmariadb-dev, libpq-dev, libzookeeper-mt-dev")
# Some scenes try the command, and start servers of their own where they are installed.
set(CPACK_DEBIAN_LAB_PACKAGE_RECOMMENDS herdlock)
set(CPACK_DEBIAN_LAB_PACKAGE_SUGGESTS redis-server)
include(CPack)
