# What every target of this project shares.

# ccache when it is there; whoever sets a launcher of their own keeps it.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(HOLDFAST_CCACHE ccache)
  if(HOLDFAST_CCACHE)
    # What the manual of ccache asks for where headers are precompiled.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros
                                    "${HOLDFAST_CCACHE}")
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
                        "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endif()

function(holdfast_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
endfunction()

# Compiles many sources at a time and what they have in common once, where the preset says so (CMAKE_UNITY_BUILD,
# CMAKE_DISABLE_PRECOMPILE_HEADERS): most of the time goes to the same headers and the same templates. It takes at most
# so many sources that one unit is done in about ten seconds.
function(holdfast_compile_together target sources_in_a_unit)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${sources_in_a_unit})
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

# A component of the package (holdfast_install_component) links the library that is in the build, or that a program found:
# the shared or the static one, so that it fits both. One that uses more than the public headers names holdfast::static.
function(holdfast_link_of_component target scope)
  set(library holdfast::holdfast)
  if(ARGC GREATER 2)
    set(library "${ARGV2}")
  endif()
  target_link_libraries(${target} ${scope} "$<BUILD_INTERFACE:${library}>" "$<INSTALL_INTERFACE:${library}>")
endfunction()

# Embeds the Lua scripts below `folder`: a header for each family of them, and all.hpp, in `out` (EmbedLua.cmake).
function(holdfast_embed_lua variable folder out)
  file(GLOB_RECURSE scripts CONFIGURE_DEPENDS "${folder}/*.lua")
  set(headers "${out}/all.hpp")
  foreach(script IN LISTS scripts)
    cmake_path(GET script PARENT_PATH family)
    cmake_path(GET family FILENAME family)
    if(NOT family STREQUAL "include")
      list(APPEND headers "${out}/${family}.hpp")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES headers)
  set(embed "${PROJECT_SOURCE_DIR}/cmake/EmbedLua.cmake")
  add_custom_command(
    OUTPUT ${headers}
    COMMAND "${CMAKE_COMMAND}" "-DSRC=${folder}" "-DOUT=${out}" -P "${embed}"
    DEPENDS ${scripts} "${embed}"
    COMMENT "Embedding the Lua scripts of ${folder}"
    VERBATIM)
  set(${variable} ${headers} PARENT_SCOPE)
endfunction()
