# Does what README.md of -DSOURCE says under "For C++": its program and its CMakeLists.txt, taken from there, are built
# with the installed package, and the program runs with a Redis of its own. So does the program of docs/recipes.md, and one
# that has each example of docs/kinds.md as a function.
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

# Writes a program that runs all blocks of C++ in a page, one after the other. Every public header is included.
function(take_all_from page file)
  file(READ "${SOURCE}/${page}" text)
  file(GLOB headers RELATIVE "${SOURCE}/include" "${SOURCE}/include/holdfast/*.hpp")
  set(program "#include <iostream>\n#include <mutex>\n#include <string>\n#include <thread>\n#include <utility>\n")
  foreach(header IN LISTS headers)
    string(APPEND program "#include <${header}>\n")
  endforeach()
  string(APPEND program "\nusing namespace std::chrono_literals;\n")
  set(calls "")
  set(count 0)
  string(FIND "${text}" "```cpp\n" from)
  while(NOT from EQUAL -1)
    math(EXPR from "${from} + 7")
    string(SUBSTRING "${text}" ${from} -1 text)
    string(FIND "${text}" "```\n" to)
    string(SUBSTRING "${text}" 0 ${to} example)
    math(EXPR count "${count} + 1")
    string(APPEND program "\nvoid example_${count}([[maybe_unused]] holdfast::client& redis, "
                          "[[maybe_unused]] std::string const& quorum_url) {\n${example}}\n")
    if(NOT example MATCHES "quorum_url")  # needs several servers: it is built, but not run
      string(APPEND calls "  example_${count}(redis, {});\n")
    endif()
    string(SUBSTRING "${text}" ${to} -1 text)
    string(FIND "${text}" "```cpp\n" from)
  endwhile()
  file(WRITE "${file}" "${program}\nint main(int, char** arguments) {\n  holdfast::client redis{arguments[1]};\n${calls}}\n")
endfunction()

take_from(README.md cpp "${WORK}/readme/orders.cpp")
take_from(docs/recipes.md cpp "${WORK}/readme/leader.cpp")
take_all_from(docs/kinds.md "${WORK}/readme/kinds.cpp")
take_from(README.md cmake "${WORK}/readme/CMakeLists.txt")
file(APPEND "${WORK}/readme/CMakeLists.txt"
  "add_executable(leader leader.cpp)\ntarget_link_libraries(leader PRIVATE holdfast::holdfast)\n"
  "add_executable(kinds kinds.cpp)\ntarget_link_libraries(kinds PRIVATE holdfast::holdfast)\n")
build_project("${WORK}/readme")
foreach(program orders leader kinds)
  run("${SOURCE}/tools/with-redis" sh -c "exec \"$0\" \"$HOLDFAST_URL\"" "${WORK}/build/${program}")
endforeach()
