# Configures projects that have the source tree of -DSOURCE as a folder, by add_subdirectory and by FetchContent. They aren't
# built: that would be the library once more. What a shared library of theirs is linked with is in its command.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK}")

# Sets `link` to the command that links libplugin.so.
function(configure name)
  execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${CMAKE_CURRENT_LIST_DIR}/subdirectory" -B "${WORK}/${name}"
                          "-DHOLDFAST=${SOURCE}" "-DCMAKE_CXX_COMPILER=${COMPILER}" ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ninja -C "${WORK}/${name}" -t commands -s libplugin.so OUTPUT_VARIABLE command
                  COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
  set(link "${command}" PARENT_SCOPE)
endfunction()

configure(static)
if(NOT link MATCHES "libboost_url\\.so" OR link MATCHES "libboost_url\\.a" OR NOT link MATCHES "libholdfast\\.a")
  message(FATAL_ERROR "a shared library isn't linked with the static library and the shared Boost.URL: ${link}")
endif()
configure(shared -DBUILD_SHARED_LIBS=ON -DFETCH=ON)
if(NOT link MATCHES "libholdfast\\.so" OR link MATCHES "libholdfast\\.a")
  message(FATAL_ERROR "with BUILD_SHARED_LIBS the shared library isn't linked: ${link}")
endif()

# What --install would do: nothing, since the project itself installs nothing.
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${WORK}/static" --prefix "${WORK}/prefix" COMMAND_ERROR_IS_FATAL ANY)
if(EXISTS "${WORK}/prefix")
  message(FATAL_ERROR "the library installs itself with the project that has it as a folder")
endif()
