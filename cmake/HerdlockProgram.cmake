# A program of ours: at the top of the build folder, where the README says it is; and what a package
# has of its help, beside it in manual/.
function(herdlock_program target name)
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE CXX OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  if(BUILD_SHARED_LIBS)
    include(GNUInstallDirs)
    set_target_properties(${target} PROPERTIES
                          INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  endif()
  # A sanitizer's program may not run in a build.
  if(HERDLOCK_SANITIZE OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(manual ${PROJECT_BINARY_DIR}/manual)
  set(program $<TARGET_FILE:${target}>)
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} -E make_directory ${manual}
    COMMAND ${program} help --man > ${manual}/${name}.1
    COMMAND ${program} help --completion bash > ${manual}/${name}.bash
    COMMAND ${program} help --completion zsh > ${manual}/_${name}
    COMMAND ${program} help --completion fish > ${manual}/${name}.fish)
endfunction()

# herdlock_install_program(TARGET NAME COMPONENT): the program, its manual page and its completion.
function(herdlock_install_program target name component)
  install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
  if(HERDLOCK_SANITIZE OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(manual ${PROJECT_BINARY_DIR}/manual)
  set(data ${CMAKE_INSTALL_DATADIR})
  install(FILES ${manual}/${name}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
          COMPONENT ${component})
  install(FILES ${manual}/${name}.bash RENAME ${name}
          DESTINATION ${data}/bash-completion/completions COMPONENT ${component})
  install(FILES ${manual}/_${name} DESTINATION ${data}/zsh/vendor-completions
          COMPONENT ${component})
  install(FILES ${manual}/${name}.fish DESTINATION ${data}/fish/vendor_completions.d
          COMPONENT ${component})
endfunction()
