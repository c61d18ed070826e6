# Installs the build of -DBUILD below -DWORK, builds a project of another's against it, and runs what came out.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/installed.cmake")

build_project("${CMAKE_CURRENT_LIST_DIR}/consumer")
run("${WORK}/build/consumer")
run("${WORK}/build/consumer_of_plugin")
if(EXISTS "${WORK}/prefix/bin/holdfast")
  run("${WORK}/prefix/bin/holdfast" --version)
  foreach(file man/man1/holdfast.1 bash-completion/completions/holdfast zsh/site-functions/_holdfast
               fish/vendor_completions.d/holdfast.fish)
    run("${CMAKE_COMMAND}" -E cat "${WORK}/prefix/share/${file}")
  endforeach()
endif()
