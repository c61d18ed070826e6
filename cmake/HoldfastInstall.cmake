# cmake --install: headers, libraries, command with its manual page and completions, module, documentation, and packages for
# find_package(holdfast) and pkg-config. COMPONENT says which Debian package has it (HoldfastDebian.cmake).
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")
set_target_properties(holdfast PROPERTIES EXPORT_NAME static)
install(TARGETS holdfast EXPORT holdfast-static ARCHIVE COMPONENT development FILE_SET HEADERS COMPONENT development)
install(EXPORT holdfast-static NAMESPACE holdfast:: FILE holdfast-static.cmake DESTINATION "${package_dir}"
        COMPONENT development)
if(HOLDFAST_SHARED)
  install(TARGETS holdfast_shared EXPORT holdfast-shared
          LIBRARY COMPONENT library NAMELINK_COMPONENT development)
  install(EXPORT holdfast-shared NAMESPACE holdfast:: FILE holdfast-shared.cmake DESTINATION "${package_dir}"
          COMPONENT development)
endif()

write_basic_package_version_file("${PROJECT_BINARY_DIR}/holdfast-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES cmake/holdfast-config.cmake "${PROJECT_BINARY_DIR}/holdfast-config-version.cmake"
        DESTINATION "${package_dir}" COMPONENT development)

# Without the shared library `pkg-config --libs` has to say what the static one needs; with it `--static --libs`.
set(pc_libs "")
set(pc_private "\nLibs.private: -lboost_url -lssl -lcrypto")
if(NOT HOLDFAST_SHARED)
  set(pc_libs " -lboost_url -lssl -lcrypto")
  set(pc_private "")
endif()
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE pc_libdir)
file(RELATIVE_PATH pc_prefix "/${pc_libdir}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(cmake/holdfast.pc.in holdfast.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/holdfast.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)

# A part of the package that programs ask for by find_package(holdfast COMPONENTS <name>): its targets, and what has to be
# found for them, each as the arguments of find_package: holdfast_install_component(asio TARGETS holdfast_asio
# DEPENDENCIES "Boost 1.81"). Its targets link the library by holdfast_link_of_component.
function(holdfast_install_component name)
  cmake_parse_arguments(PARSE_ARGV 1 component "" "" "TARGETS;DEPENDENCIES")
  set(text "")
  foreach(dependency IN LISTS component_DEPENDENCIES)
    string(APPEND text "holdfast_find_dependency(${dependency})\n")
  endforeach()
  string(APPEND text "if(holdfast_FOUND)\n  include(\"\${CMAKE_CURRENT_LIST_DIR}/targets/${name}.cmake\")\nendif()\n")
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/components/${name}.cmake" CONTENT "${text}" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/components/${name}.cmake" DESTINATION "${package_dir}/components"
          COMPONENT development)
  install(TARGETS ${component_TARGETS} EXPORT "holdfast-${name}" ARCHIVE COMPONENT development
          FILE_SET HEADERS COMPONENT development)
  install(EXPORT "holdfast-${name}" NAMESPACE holdfast:: FILE "${name}.cmake" DESTINATION "${package_dir}/components/targets"
          COMPONENT development)
endfunction()
holdfast_install_component(asio TARGETS holdfast_asio DEPENDENCIES "Boost 1.81")
holdfast_install_component(opentelemetry TARGETS holdfast_opentelemetry DEPENDENCIES opentelemetry-cpp)
if(HOLDFAST_PROMETHEUS)
  holdfast_install_component(prometheus TARGETS holdfast_prometheus DEPENDENCIES prometheus-cpp)
endif()
if(HOLDFAST_TESTING)
  holdfast_install_component(testing TARGETS holdfast_testing
                             DEPENDENCIES "Boost 1.81 COMPONENTS url" "OpenSSL 3.0" "Lua 5.1 EXACT")
endif()

if(HOLDFAST_MODULE)
  # Where Debian's packages have such modules; there is one folder for all architectures.
  # Redis loads no file that isn't executable, and CMake makes none of a library so where Debian's policy is followed.
  install(TARGETS holdfast_module LIBRARY DESTINATION lib/redis/modules COMPONENT module
          PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endif()
if(HOLDFAST_ETCD)
  install(TARGETS holdfast_etcd_channel LIBRARY COMPONENT etcd NAMELINK_SKIP)
endif()
set(manual man/holdfast.1)
option(HOLDFAST_DEBIAN "cpack makes Debian packages: for the prefix /usr, with HOLDFAST_SHARED" OFF)
if(HOLDFAST_DEBIAN)
  include(HoldfastDebian)
endif()
if(HOLDFAST_CLI)
  install(TARGETS holdfast_cli RUNTIME COMPONENT command)
  install(FILES "${manual}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT command)
  set(completions_dir "${PROJECT_BINARY_DIR}/completions")
  install(FILES "${completions_dir}/bash/holdfast" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
          COMPONENT command)
  install(FILES "${completions_dir}/zsh/_holdfast" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions"
          COMPONENT command)
  install(FILES "${completions_dir}/fish/holdfast.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d"
          COMPONENT command)
endif()

# Headers, help and messages name these pages as the tree has them: docs/protocol.md.
install(FILES README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT command)
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT command)
if(HOLDFAST_CLI)  # units for `holdfast serve`
  install(DIRECTORY packaging/systemd DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT command)
endif()
install(DIRECTORY examples DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT development)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT license)  # Debian has it in each `copyright`
