# cpack: Debian packages, from the components of HoldfastInstall.cmake: four, and one more with HOLDFAST_ETCD. For a build with the prefix /usr and the
# shared library: preset `packages`, which `./check packages` builds and tries.
set(HOLDFAST_MAINTAINER "Holdfast maintainers <maintainers@holdfast.invalid>" CACHE STRING
    "The maintainer that Debian packages name")
set(debian "${PROJECT_SOURCE_DIR}/packaging/debian")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${debian}/changelog" "${PROJECT_SOURCE_DIR}/man/holdfast.1")
file(STRINGS "${debian}/changelog" newest LIMIT_COUNT 1)
if(NOT newest MATCHES "^holdfast \\(${PROJECT_VERSION}-([0-9]+)\\) ")
  message(FATAL_ERROR "packaging/debian/changelog begins with \"${newest}\"; the version is ${PROJECT_VERSION} "
                      "(include/holdfast/version.hpp)")
endif()
set(CPACK_DEBIAN_PACKAGE_RELEASE "${CMAKE_MATCH_1}")

set(library_package "libholdfast${HOLDFAST_ABI}")
set(development_package libholdfast-dev)
set(command_package holdfast)
set(module_package holdfast-redis-module)
set(packaged_components library development command module)
if(HOLDFAST_ETCD)
  get_target_property(etcd_version holdfast_etcd_channel SOVERSION)
  set(etcd_package "libholdfast-etcd${etcd_version}")
  list(APPEND packaged_components etcd)
endif()

function(compress file to)
  execute_process(COMMAND gzip -9 -n -c "${file}" OUTPUT_FILE "${to}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()
compress("${debian}/changelog" "${PROJECT_BINARY_DIR}/changelog.Debian.gz")
compress("${PROJECT_SOURCE_DIR}/man/holdfast.1" "${PROJECT_BINARY_DIR}/holdfast.1.gz")
set(manual "${PROJECT_BINARY_DIR}/holdfast.1.gz")
foreach(component IN LISTS packaged_components)
  set(package "${${component}_package}")
  install(FILES "${debian}/copyright" "${PROJECT_BINARY_DIR}/changelog.Debian.gz"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}" COMPONENT ${component})
  install(FILES "${debian}/lintian-overrides" DESTINATION "${CMAKE_INSTALL_DATADIR}/lintian/overrides"
          RENAME "${package}" COMPONENT ${component})
  string(TOUPPER "${component}" upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME "${package}")
  list(APPEND CPACK_COMPONENTS_ALL ${component})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_VENDOR "Holdfast")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_CONTACT "${HOLDFAST_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# What has to be of the same version as another package is said when cpack runs, since that knows the revision.
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/HoldfastDebianVersions.cmake")
set(CPACK_POST_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/HoldfastDebianRepack.cmake")

set(about "\
Holdfast makes locks on Redis or Valkey that hold across hosts: a process that\n\
has one is told when it loses it, and waiters get it in the order in which they\n\
came. Its other side may be Redisson, on the same keys.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "distributed locks on Redis - shared library\n${about}\n\n\
This is the library that C++ programs use.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS holdfast)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libboost-url1.81-dev, libssl-dev, liblua5.1-0-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "distributed locks on Redis - headers and static library\n${about}\n\n\
This package has what C++20 programs need to be built: headers, the static\n\
library (with it, libboost-url1.81-dev and libssl-dev are needed), files for\n\
CMake and pkg-config, and examples.")

set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "redis-server (>= 5:6.0) | valkey-server")
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS holdfast-redis-module)
if(HOLDFAST_ETCD)
  string(APPEND CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS ", ${etcd_package}")
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS "${etcd_package}")
  set(CPACK_DEBIAN_ETCD_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_ETCD_PACKAGE_ENHANCES "${library_package}, ${command_package}")
  set(CPACK_DEBIAN_ETCD_DESCRIPTION "distributed locks on Redis - the same on etcd\n${about}\n\n\
This package is what the library and the command load for the URLs of etcd,\n\
whose locks a failover can't forget.")
endif()
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "distributed locks on Redis - command\n${about}\n\n\
This package has the command: it runs another command on one host at a time,\n\
shows who holds and who waits, and examines servers. The documentation is in\n\
it, too.")

set(CPACK_DEBIAN_MODULE_PACKAGE_SECTION database)
set(CPACK_DEBIAN_MODULE_PACKAGE_RECOMMENDS "redis-server (>= 5:7.0) | valkey-server")
set(CPACK_DEBIAN_MODULE_PACKAGE_ENHANCES redis-server)
set(CPACK_DEBIAN_MODULE_DESCRIPTION "distributed locks on Redis - module for the server\n${about}\n\n\
With this module the server has the hot steps of the locks as commands. It is\n\
loaded by a line `loadmodule /usr/lib/redis/modules/holdfast.so` in the\n\
configuration of the server.")

include(CPack)
