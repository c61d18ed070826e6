# Whether the library knows etcd:// URLs. Either way a unit of its own, so that all others are the same.
if(HOLDFAST_ETCD)
  file(GLOB etcd_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/etcd/*.cpp")
  list(FILTER etcd_sources EXCLUDE REGEX "/absent[.]cpp$")
else()
  set(etcd_sources "${PROJECT_SOURCE_DIR}/src/etcd/absent.cpp")
endif()
target_sources(holdfast PRIVATE ${etcd_sources})
set_source_files_properties(${etcd_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
