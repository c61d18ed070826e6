# Runs the port as vcpkg does, for a triplet with shared libraries, below -DWORK: with Debian's Boost and OpenSSL, and with functions in
# place of vcpkg's, which can't be downloaded everywhere. These do what vcpkg's do with a release build.
cmake_minimum_required(VERSION 3.25)

set(PORT holdfast)
set(VCPKG_LIBRARY_LINKAGE dynamic)
set(CURRENT_PACKAGES_DIR "${WORK}/packages/holdfast")
set(port "${CMAKE_CURRENT_LIST_DIR}/holdfast")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  run("${CMAKE_COMMAND}" -G Ninja -S "${arg_SOURCE_PATH}" -B "${WORK}/build" -Werror=dev -DCMAKE_BUILD_TYPE=Release
      -DCMAKE_UNITY_BUILD=ON "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" ${arg_OPTIONS})
endfunction()
function(vcpkg_cmake_install)
  run("${CMAKE_COMMAND}" --build "${WORK}/build" --target install)
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  file(COPY "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib/cmake")
  # The folder is one level less deep.
  file(GLOB files "${CURRENT_PACKAGES_DIR}/share/${PORT}/*.cmake")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(REPLACE "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)"
           "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)"
           text "${text}")
    file(WRITE "${file}" "${text}")
  endforeach()
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(COPY ${arg_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
endfunction()

# What the port says of itself.
file(READ "${port}/vcpkg.json" manifest)
string(JSON version GET "${manifest}" version-semver)
cmake_path(SET header NORMALIZE "${port}/../../../include/holdfast/version.hpp")
file(STRINGS "${header}" numbers REGEX "^#define HOLDFAST_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
list(TRANSFORM numbers REPLACE "^.* " "")
list(JOIN numbers "." numbers)
if(NOT version STREQUAL numbers)
  message(FATAL_ERROR "packaging/vcpkg/holdfast/vcpkg.json has version ${version}, and include/holdfast/version.hpp ${numbers}")
endif()

include("${port}/portfile.cmake")

# A program of somebody else's.
cmake_path(SET consumer NORMALIZE "${port}/../../../tests/install/consumer")
run("${CMAKE_COMMAND}" -G Ninja -S "${consumer}" -B "${WORK}/consumer" --fresh
    "-DCMAKE_PREFIX_PATH=${CURRENT_PACKAGES_DIR}" -DHAS=shared)
run("${CMAKE_COMMAND}" --build "${WORK}/consumer")
run("${WORK}/consumer/consumer")
