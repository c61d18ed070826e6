# Configures a project that adds the source tree of -DSOURCE by add_subdirectory. It isn't built: that would be the
# library once more. What the shared library is linked with is in its command.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK}")
execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${CMAKE_CURRENT_LIST_DIR}/subdirectory" -B "${WORK}"
                        "-DHOLDFAST=${SOURCE}" "-DCMAKE_CXX_COMPILER=${COMPILER}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ninja -C "${WORK}" -t commands -s libplugin.so OUTPUT_VARIABLE link COMMAND_ECHO STDOUT
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT link MATCHES "libboost_url\\.so" OR link MATCHES "libboost_url\\.a")
  message(FATAL_ERROR "a shared library isn't linked with the shared library of Boost.URL: ${link}")
endif()
# What --install would do: nothing, since the project itself installs nothing.
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${WORK}" --prefix "${WORK}/prefix" COMMAND_ERROR_IS_FATAL ANY)
if(EXISTS "${WORK}/prefix")
  message(FATAL_ERROR "the library installs itself with the project that has it as a folder")
endif()
