# An overlay port that builds the tree it is in: vcpkg install holdfast --overlay-ports=<clone>/packaging/vcpkg
cmake_path(SET source NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../..")
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" dynamic shared)

vcpkg_cmake_configure(
  SOURCE_PATH "${source}"
  OPTIONS
    -DBoost_USE_STATIC_LIBS=OFF  # the triplet says which there are
    -DHOLDFAST_SHARED=${shared}
    -DHOLDFAST_CLI=OFF
    -DHOLDFAST_TESTS=OFF
    -DHOLDFAST_EXAMPLES=OFF
    -DHOLDFAST_MODULE=OFF
    -DHOLDFAST_PROMETHEUS=OFF)  # also where the machine has prometheus-cpp
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/holdfast)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
if(shared)
  # A package of vcpkg has one of the two; the static library came with the shared one.
  file(GLOB static_libraries "${CURRENT_PACKAGES_DIR}/lib/*.a" "${CURRENT_PACKAGES_DIR}/debug/lib/*.a")
  file(REMOVE ${static_libraries})
  file(GLOB static_targets "${CURRENT_PACKAGES_DIR}/share/holdfast/holdfast-static*.cmake")
  file(REMOVE ${static_targets})
endif()
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
