# Installs the build of -DBUILD below -DWORK, builds a project of another's against it, and runs what came out.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/installed.cmake")

set(libraries static)
file(GLOB_RECURSE shared_targets "${WORK}/prefix/*/holdfast-shared.cmake")
if(shared_targets)
  set(libraries shared,static)
endif()
build_project("${CMAKE_CURRENT_LIST_DIR}/consumer" "-DHAS=${libraries}" "-DCOMPONENTS=asio\;OPTIONAL_COMPONENTS\;prometheus\;opentelemetry")
run("${WORK}/build/consumer")
run("${WORK}/build/consumer_of_plugin")
foreach(consumer IN ITEMS consumer_of_metrics consumer_of_spans)
  if(EXISTS "${WORK}/build/${consumer}")
    run("${WORK}/build/${consumer}")
  endif()
endforeach()
run("${WORK}/build/consumer_of_asio")

# pkg-config, with warnings also in the headers.
file(GLOB_RECURSE pc "${WORK}/prefix/*/holdfast.pc")
cmake_path(GET pc PARENT_PATH pc_folder)
cmake_path(GET pc_folder PARENT_PATH libraries_folder)
set(ENV{PKG_CONFIG_PATH} "${pc_folder}")
execute_process(COMMAND pkg-config --cflags --libs holdfast OUTPUT_VARIABLE options COMMAND_ERROR_IS_FATAL ANY
                OUTPUT_STRIP_TRAILING_WHITESPACE)
separate_arguments(options)
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
run("${COMPILER}" ${flags} -std=c++20 -Wall -Wextra -Wconversion -Werror "${CMAKE_CURRENT_LIST_DIR}/consumer/consumer.cpp"
    -o "${WORK}/by_pkg_config" ${options})
run("${CMAKE_COMMAND}" -E env "LD_LIBRARY_PATH=${libraries_folder}" "${WORK}/by_pkg_config")

if(EXISTS "${WORK}/prefix/bin/holdfast")
  run("${WORK}/prefix/bin/holdfast" --version)
  foreach(file man/man1/holdfast.1 bash-completion/completions/holdfast zsh/site-functions/_holdfast
               fish/vendor_completions.d/holdfast.fish doc/holdfast/docs/protocol.md doc/holdfast/examples/lease.cpp)
    run("${CMAKE_COMMAND}" -E cat "${WORK}/prefix/share/${file}")
  endforeach()
endif()

if(EXISTS "${WORK}/prefix/lib/redis/modules/holdfast.so")
  run(test -x "${WORK}/prefix/lib/redis/modules/holdfast.so")  # else no Redis loads it
endif()

# Components, and packages that have one of the libraries. The project is configured anew, and not built.
function(configure outcome)
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/consumer" -B "${WORK}/build" -DCOMPONENTS=
                          -DCMAKE_DISABLE_FIND_PACKAGE_Boost=OFF ${ARGN}
                  RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if((outcome STREQUAL "found" AND result) OR (NOT outcome STREQUAL "found" AND NOT said MATCHES "${outcome}"))
    message(FATAL_ERROR "find_package with ${ARGN} should say: ${outcome}\n${said}")
  endif()
endfunction()
function(fake_component name text)
  file(WRITE "${libraries_folder}/cmake/holdfast/components/${name}.cmake" "${text}")
endfunction()
fake_component(seven "set(holdfast_seven_was_read 7)\n")
fake_component(lacking "holdfast_find_dependency(NothingOfThatName 7)\n")
configure(found "-DHAS=${libraries}" -DCOMPONENTS=seven)
configure("no[ \n]+component[ \n]+\"other\"[^!]*lacking,[^!]*seven" "-DHAS=${libraries}" "-DCOMPONENTS=seven\;other")
configure("Holdfast[ \n]+needs[ \n]+NothingOfThatName" "-DHAS=${libraries}" -DCOMPONENTS=lacking)
configure(found "-DHAS=${libraries}" "-DCOMPONENTS=seven\;OPTIONAL_COMPONENTS\;lacking")
if(shared_targets)
  configure(found -DHAS=shared -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON)
  file(GLOB files "${libraries_folder}/libholdfast.so*" "${libraries_folder}/cmake/holdfast/holdfast-shared*.cmake")
  file(REMOVE ${files})
  configure(found -DHAS=static)
endif()
configure("Holdfast[ \n]+needs[ \n]+Boost" -DHAS=static -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON)
