# Runs EmbedLua.cmake over -DCASE=<folder> and expects the refusal that the first line of its script tells.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND "${CMAKE_COMMAND}" "-DSRC=${CASE}" "-DOUT=${OUT}" -P "${EMBED}"
                RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
file(READ "${CASE}/family/verb.lua" text)
string(FIND "${text}" "\n" end)
string(SUBSTRING "${text}" 0 ${end} expected)
string(REPLACE "-- refused: " "" expected "${expected}")

# CMake wraps its messages at spaces.
string(REGEX REPLACE "[ \n]+" " " said "${said}")
string(REGEX REPLACE "[ \n]+" " " expected "${expected}")
string(FIND "${said}" "${expected}" told)
string(FIND "${said}" "family/verb.lua" named)
if(result EQUAL 0)
  message(FATAL_ERROR "accepted, though it should say: ${expected}")
elseif(told EQUAL -1 OR named EQUAL -1)
  message(FATAL_ERROR "refused for another reason than: ${expected}\n${said}")
endif()
