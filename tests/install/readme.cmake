# Builds and runs each block of C++ in README.md and docs/*.md of -DSOURCE, as it stands, with the installed package, and with
# the CMakeLists.txt of docs/start.md. A block with a main() is a program; all others become functions of one program.
# Programs get the URL of a Redis of their own.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/installed.cmake")

# Takes the blocks of that language out of a page: `<result>_count`, and `<result>_1` and so on.
function(blocks_of page language result)
  file(READ "${SOURCE}/${page}" text)
  set(count 0)
  string(FIND "${text}" "```${language}\n" from)
  while(NOT from EQUAL -1)
    string(LENGTH "```${language}\n" mark)
    math(EXPR from "${from} + ${mark}")
    string(SUBSTRING "${text}" ${from} -1 text)
    string(FIND "${text}" "```\n" to)
    string(SUBSTRING "${text}" 0 ${to} block)
    math(EXPR count "${count} + 1")
    set("${result}_${count}" "${block}" PARENT_SCOPE)
    string(SUBSTRING "${text}" ${to} -1 text)
    string(FIND "${text}" "```${language}\n" from)
  endwhile()
  set("${result}_count" ${count} PARENT_SCOPE)
endfunction()

set(functions "")
set(calls "")
set(programs orders parts)
set(more_programs "")
file(GLOB pages RELATIVE "${SOURCE}" "${SOURCE}/docs/*.md")
foreach(page IN ITEMS README.md LISTS pages)
  blocks_of("${page}" cpp block)
  string(MAKE_C_IDENTIFIER "${page}" title)
  if(block_count EQUAL 0)
    continue()
  endif()
  foreach(number RANGE 1 ${block_count})
    set(name "${title}_${number}")
    set(text "${block_${number}}")
    if(page STREQUAL "docs/start.md" AND text MATCHES "int main")
      file(WRITE "${WORK}/readme/orders.cpp" "${text}")  # as the page calls it
    elseif(text MATCHES "int main")
      file(WRITE "${WORK}/readme/${name}.cpp" "${text}")
      list(APPEND programs ${name})
      set(library holdfast)
      if(page STREQUAL "docs/testing.md")
        set(library testing)
        string(APPEND more_programs "find_package(holdfast REQUIRED COMPONENTS testing)\n")
      endif()
      string(APPEND more_programs "add_executable(${name} ${name}.cpp)\ntarget_link_libraries(${name} PRIVATE holdfast::${library})\n")
    else()
      string(APPEND functions "\n// ${page}\nvoid ${name}([[maybe_unused]] holdfast::client& redis, "
                              "[[maybe_unused]] std::string const& quorum_url) {\n${text}}\n")
      if(NOT text MATCHES "quorum_url")  # needs several servers: it is built, but not run
        string(APPEND calls "  ${name}(redis, {});\n")
      endif()
    endif()
  endforeach()
endforeach()

# Every public header is included.
file(GLOB headers RELATIVE "${SOURCE}/include" "${SOURCE}/include/holdfast/*.hpp")
set(parts "#include <iostream>\n#include <mutex>\n#include <string>\n#include <thread>\n#include <utility>\n")
foreach(header IN LISTS headers)
  string(APPEND parts "#include <${header}>\n")
endforeach()
file(WRITE "${WORK}/readme/parts.cpp"
  "${parts}\nusing namespace std::chrono_literals;\n${functions}"
  "\nint main(int, char** arguments) {\n  holdfast::client redis{arguments[1]};\n${calls}}\n")

blocks_of(docs/start.md cmake project)
file(WRITE "${WORK}/readme/CMakeLists.txt" "${project_1}${more_programs}"
  "add_executable(parts parts.cpp)\ntarget_link_libraries(parts PRIVATE holdfast::holdfast)\n")
build_project("${WORK}/readme")
foreach(program IN LISTS programs)
  run("${SOURCE}/tools/with-redis" sh -c "exec \"$0\" \"$HOLDFAST_URL\"" "${WORK}/build/${program}")
endforeach()
