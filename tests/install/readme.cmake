# Does what README.md of -DSOURCE says under "For C++": its program and its CMakeLists.txt, taken from there, are built
# with the installed package, and the program runs with a Redis of its own. So does the program of docs/recipes.md.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/installed.cmake")

# Writes the first block of that language in a page to a file, as it stands.
function(take_from page language file)
  file(READ "${SOURCE}/${page}" text)
  string(FIND "${text}" "```${language}\n" from)
  if(from EQUAL -1)
    message(FATAL_ERROR "${page} has no block of ${language}")
  endif()
  string(LENGTH "```${language}\n" mark)
  math(EXPR from "${from} + ${mark}")
  string(SUBSTRING "${text}" ${from} -1 text)
  string(FIND "${text}" "```\n" to)
  string(SUBSTRING "${text}" 0 ${to} text)
  file(WRITE "${file}" "${text}")
endfunction()

take_from(README.md cpp "${WORK}/readme/orders.cpp")
take_from(docs/recipes.md cpp "${WORK}/readme/leader.cpp")
take_from(README.md cmake "${WORK}/readme/CMakeLists.txt")
file(APPEND "${WORK}/readme/CMakeLists.txt"
  "add_executable(leader leader.cpp)\ntarget_link_libraries(leader PRIVATE holdfast::holdfast)\n")
build_project("${WORK}/readme")
foreach(program orders leader)
  run("${SOURCE}/tools/with-redis" sh -c "exec \"$0\" \"$HOLDFAST_URL\"" "${WORK}/build/${program}")
endforeach()
