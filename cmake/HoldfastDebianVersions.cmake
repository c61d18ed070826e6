# Read by cpack: packages of Holdfast that fit only those of the same version.
set(this_version "(= ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME} ${this_version}")
# The library or the command loads it, and both have the same part of Holdfast in them.
set(CPACK_DEBIAN_ETCD_PACKAGE_DEPENDS "${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME} ${this_version} | ${CPACK_DEBIAN_COMMAND_PACKAGE_NAME} ${this_version}")
