# What the checks here share: WORK, an empty folder, with Holdfast of the build of -DBUILD installed below WORK/prefix.

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --config "${CONFIG}" --prefix "${WORK}/prefix")

# Configures and builds the project in `source`, which finds the installed package: further arguments are CMake's.
function(build_project source)
  run("${CMAKE_COMMAND}" -G Ninja -S "${source}" -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${WORK}/prefix"
      "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}" ${ARGN})
  run("${CMAKE_COMMAND}" --build "${WORK}/build")
endfunction()
