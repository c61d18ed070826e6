# cmake --install: headers, library, command with its manual page and completions, and a package for find_package(holdfast).
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")
install(TARGETS holdfast EXPORT holdfast-targets ARCHIVE FILE_SET HEADERS)
install(EXPORT holdfast-targets NAMESPACE holdfast:: DESTINATION "${package_dir}")
if(HOLDFAST_MODULE)
  # Where Debian's packages have such modules; there is one folder for all architectures.
  install(TARGETS holdfast_module LIBRARY DESTINATION lib/redis/modules)
endif()
if(HOLDFAST_CLI)
  install(TARGETS holdfast_cli RUNTIME)
  install(FILES man/holdfast.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  set(completions_dir "${PROJECT_BINARY_DIR}/completions")
  install(FILES "${completions_dir}/bash/holdfast" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${completions_dir}/zsh/_holdfast" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  install(FILES "${completions_dir}/fish/holdfast.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()

write_basic_package_version_file("${PROJECT_BINARY_DIR}/holdfast-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES cmake/holdfast-config.cmake "${PROJECT_BINARY_DIR}/holdfast-config-version.cmake"
        DESTINATION "${package_dir}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
