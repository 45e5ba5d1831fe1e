# Install and export: the library, its headers, the command, find_package(herdlock) and pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/herdlock")

# What users of the static library must link as well, each with the way to find it again. A box
# with a new client library fails here until both lists below know it.
get_target_property(needed herdlock LINK_LIBRARIES)
list(FILTER needed EXCLUDE REGEX "BUILD_INTERFACE|^Threads::Threads$")
list(REMOVE_DUPLICATES needed)
set(herdlock_find_dependencies "find_dependency(Threads)\n")
set(herdlock_pc_requires "")
set(herdlock_pc_libs "")
foreach(library IN LISTS needed)
  if(library STREQUAL "SQLite::SQLite3")
    set(dependency SQLite3)
    set(pc sqlite3)
  elseif(library STREQUAL "zookeeper_mt")  # has neither a CMake package nor a .pc file
    string(APPEND herdlock_pc_libs " -lzookeeper_mt")
    continue()
  elseif(library MATCHES "^OpenSSL::(SSL|Crypto)$")
    set(dependency OpenSSL)
    set(pc openssl)
  elseif(library STREQUAL "PkgConfig::herdlock_mariadb")
    string(APPEND herdlock_find_dependencies "find_dependency(PkgConfig)\n")
    string(APPEND herdlock_find_dependencies
      "pkg_check_modules(herdlock_mariadb REQUIRED IMPORTED_TARGET libmariadb)\n")
    list(APPEND herdlock_pc_requires libmariadb)
    continue()
  elseif(library STREQUAL "PostgreSQL::PostgreSQL")
    set(dependency PostgreSQL)
    set(pc libpq)
  else()
    message(FATAL_ERROR "cmake/HerdlockInstall.cmake does not know how a user finds ${library}")
  endif()
  string(APPEND herdlock_find_dependencies "find_dependency(${dependency})\n")
  list(APPEND herdlock_pc_requires ${pc})
endforeach()
list(REMOVE_DUPLICATES herdlock_pc_requires)
list(JOIN herdlock_pc_requires ", " herdlock_pc_requires)

if(TARGET herdlock_shared)
  install(TARGETS herdlock_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS herdlock EXPORT herdlockTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/herdlock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(EXPORT herdlockTargets NAMESPACE herdlock:: DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET herdlock_cli)
  install(TARGETS herdlock_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/examples/herdlock-worker.service
                ${PROJECT_SOURCE_DIR}/examples/herdlock-report.cron
          DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
  if(NOT HERDLOCK_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
    set(manual ${PROJECT_BINARY_DIR}/manual)
    install(FILES ${manual}/herdlock.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${manual}/herdlock.bash RENAME herdlock
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${manual}/_herdlock DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
    install(FILES ${manual}/herdlock.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/herdlockConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/herdlockConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/herdlockConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/herdlockConfig.cmake
              ${PROJECT_BINARY_DIR}/package/herdlockConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/HerdlockFindBoost.cmake
        DESTINATION ${package_dir})

# The .pc file finds its prefix from its own place, so that `cmake --install --prefix` just works.
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(herdlock_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/prefix/${pc_dir}" "/prefix")
  set(herdlock_pc_prefix "\${pcfiledir}/${up}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/herdlock.pc.in
               ${PROJECT_BINARY_DIR}/package/herdlock.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/herdlock.pc DESTINATION ${pc_dir})

# `cpack` in the build folder: a .deb with everything that is installed.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME herdlock)
set(CPACK_PACKAGE_VENDOR herdlock)
set(CPACK_PACKAGE_CONTACT "herdlock <herdlock@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
# The command and the C library; who compiles against the headers needs the rest.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libsqlite3-dev, libssl-dev")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libmariadb-dev, libpq-dev, libzookeeper-mt-dev")
include(CPack)
