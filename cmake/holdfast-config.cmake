# find_package(holdfast): the target holdfast::holdfast, and what it needs.
set(holdfast_FOUND TRUE)

# A function has variables of its own: what finding a package sets stays in it. How Boost is linked is the choice of
# whoever uses Holdfast: without Boost_USE_STATIC_LIBS shared, which also fits shared libraries.
function(holdfast_find_dependency name)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    list(JOIN ARGN " " requirements)
    set(holdfast_FOUND FALSE PARENT_SCOPE)
    set(holdfast_NOT_FOUND_MESSAGE "Holdfast needs ${name} ${requirements}. ${${name}_NOT_FOUND_MESSAGE}" PARENT_SCOPE)
  endif()
endfunction()

holdfast_find_dependency(Boost 1.81 COMPONENTS url)
holdfast_find_dependency(OpenSSL 3.0)
holdfast_find_dependency(Threads)
if(holdfast_FOUND)
  include("${CMAKE_CURRENT_LIST_DIR}/holdfast-targets.cmake")
endif()
