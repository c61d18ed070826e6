# Installs the build of -DBUILD below -DWORK, builds a project of another's against it, and runs what came out.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --config "${CONFIG}" --prefix "${WORK}/prefix")
run("${CMAKE_COMMAND}" -G Ninja -S "${CMAKE_CURRENT_LIST_DIR}/consumer" -B "${WORK}/build"
    "-DCMAKE_PREFIX_PATH=${WORK}/prefix" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}")
run("${CMAKE_COMMAND}" --build "${WORK}/build")
run("${WORK}/build/consumer")
if(EXISTS "${WORK}/prefix/bin/holdfast")
  run("${WORK}/prefix/bin/holdfast" --version)
  foreach(file man/man1/holdfast.1 bash-completion/completions/holdfast zsh/site-functions/_holdfast
               fish/vendor_completions.d/holdfast.fish)
    run("${CMAKE_COMMAND}" -E cat "${WORK}/prefix/share/${file}")
  endforeach()
endif()
