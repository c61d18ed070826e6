# Does what README.md of -DSOURCE says under "For C++": its program and its CMakeLists.txt, taken from there, are built
# with the installed package, and the program runs with a Redis of its own.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/installed.cmake")

# Writes the one block of that language to a file, as it stands.
function(take_from_readme language file)
  file(READ "${SOURCE}/README.md" text)
  string(FIND "${text}" "```${language}\n" from)
  if(from EQUAL -1)
    message(FATAL_ERROR "README.md has no block of ${language}")
  endif()
  string(LENGTH "```${language}\n" mark)
  math(EXPR from "${from} + ${mark}")
  string(SUBSTRING "${text}" ${from} -1 text)
  string(FIND "${text}" "```\n" to)
  string(SUBSTRING "${text}" 0 ${to} text)
  file(WRITE "${file}" "${text}")
endfunction()

take_from_readme(cpp "${WORK}/readme/orders.cpp")
take_from_readme(cmake "${WORK}/readme/CMakeLists.txt")
build_project("${WORK}/readme")
run("${SOURCE}/tools/with-redis" sh -c "exec \"$0\" \"$HOLDFAST_URL\"" "${WORK}/build/orders")
