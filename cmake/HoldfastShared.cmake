# The shared library, libholdfast.so: the objects of the static one, so that both cost one compilation. It exports what
# the public headers mark with HOLDFAST_EXPORT; tools/check-symbols compares that with the list in the tree.

# Rises with each release that breaks programs which were linked before (CONTRIBUTING.md, "Versions"). It isn't the major
# version, since 0.y may break them, too.
set(HOLDFAST_ABI 0)

add_library(holdfast_shared SHARED $<TARGET_OBJECTS:holdfast>)
add_library(holdfast::shared ALIAS holdfast_shared)
set_target_properties(holdfast_shared PROPERTIES OUTPUT_NAME holdfast EXPORT_NAME shared LINKER_LANGUAGE CXX
                                                 SOVERSION ${HOLDFAST_ABI} VERSION ${PROJECT_VERSION})
target_compile_features(holdfast_shared INTERFACE cxx_std_20)
target_include_directories(holdfast_shared INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                                     "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
# Hidden visibility doesn't reach what the standard library's templates become with types of ours, nor Boost: those have
# visibility of their own.
set(exports "${PROJECT_SOURCE_DIR}/cmake/exports.map")
target_link_options(holdfast_shared PRIVATE "LINKER:--version-script=${exports}" LINKER:--as-needed)
set_property(TARGET holdfast_shared APPEND PROPERTY LINK_DEPENDS "${exports}")

# Where Boost is linked statically, for our own programs: Debian's static Boost.URL isn't position-independent, so it can't
# become a part of a shared library.
set(boost_url Boost::url)
if(Boost_USE_STATIC_LIBS)
  find_library(HOLDFAST_BOOST_URL NAMES libboost_url.so REQUIRED)
  set(boost_url "${HOLDFAST_BOOST_URL}")
endif()
target_link_libraries(holdfast_shared PUBLIC Threads::Threads PRIVATE "${boost_url}" OpenSSL::SSL OpenSSL::Crypto)

if(NOT PROJECT_IS_TOP_LEVEL)
  add_library(holdfast::holdfast ALIAS holdfast_shared)
  set_target_properties(holdfast PROPERTIES EXCLUDE_FROM_ALL ON)  # its objects are enough
endif()
