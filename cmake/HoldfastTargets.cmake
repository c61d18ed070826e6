# What every target of this project shares.

# ccache when it is there; whoever sets a launcher of their own keeps it.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(HOLDFAST_CCACHE ccache)
  if(HOLDFAST_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${HOLDFAST_CCACHE}")
  endif()
endif()

# Whoever includes Asio through our private headers must agree on these.
set(HOLDFAST_ASIO_DEFINITIONS BOOST_ASIO_NO_DEPRECATED)

function(holdfast_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
endfunction()

# All .cpp files below a folder, looked at again with each build.
function(holdfast_glob variable folder)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS "${folder}/*.cpp")
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

# An executable that uses the library as anybody would.
function(holdfast_executable target)
  add_executable(${target} ${ARGN})
  holdfast_compile_options(${target})
  target_link_libraries(${target} PRIVATE holdfast::holdfast)
endfunction()
