# Compiles and runs the C++ of README.md and docs/*.md. Included by tests/CMakeLists.txt.
#
# Every ```cpp block of a page is taken at configure time. One with `int main` is a program of its own; the others of
# the page make one program together, top to bottom, and stand at namespace scope. An HTML comment on the line before a
# block changes that:
#
#   <!-- snippet: declare -->      as without a comment
#   <!-- snippet: file path -->    the same, and tests/docs checks that it is this file after its licence line
#   <!-- snippet: wrap -->         statements: a function of its own, which the program calls
#   <!-- snippet: continue -->     more statements of the function before
#
# A comment that closes only after the block hides it from the reader: what a listing needs and need not show.
#
# `#include` lines go to the top; the headers of snippets_prelude need none. Messages name the page and its line.
set(snippets_prelude "")
foreach(header IN ITEMS cmath cstdint cstdio cstdlib string vector norma/norma.hpp unsupported/Eigen/CXX11/Tensor)
  string(APPEND snippets_prelude "#include <${header}>\n")
endforeach()

# norma_snippet_program(<target> <text>): builds a program from text and makes it a test.
function(norma_snippet_program target text)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/doc_snippets/${target}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "${text}" @ONLY)
  add_executable(${target} "${source}")
  norma_program(${target})
  target_compile_options(${target} PRIVATE -Wno-unused -Wno-missing-field-initializers)
  target_link_libraries(${target} PRIVATE Threads::Threads nlohmann_json::nlohmann_json)
  string(REPLACE "docs_" "" name "${target}")
  add_test(NAME docs.${name} COMMAND ${target} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(docs.${name} PROPERTIES LABELS quick TIMEOUT 600)
endfunction()

function(norma_doc_snippets page)
  get_filename_component(name "${page}" NAME_WE)
  string(TOLOWER "docs_${name}" name)
  string(REPLACE "-" "_" name "${name}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${page}")
  file(READ "${PROJECT_SOURCE_DIR}/${page}" rest)
  set(before "")       # all of the page up to the block
  set(body "")         # of the program that the blocks make together
  set(open FALSE)      # inside a function?
  set(functions 0)
  set(programs 0)
  set(calls "")
  set(fence "\n```cpp\n")
  while(TRUE)
    string(FIND "${rest}" "${fence}" at)
    if(at EQUAL -1)
      break()
    endif()
    string(SUBSTRING "${rest}" 0 ${at} text)
    math(EXPR at "${at} + 8")
    string(SUBSTRING "${rest}" ${at} -1 rest)
    string(FIND "${rest}" "\n```" end)
    math(EXPR end "${end} + 1")
    string(SUBSTRING "${rest}" 0 ${end} code)
    string(SUBSTRING "${rest}" ${end} -1 rest)
    string(APPEND before "${text}${fence}")
    string(REGEX REPLACE "[^\n]" "" newlines "${before}")
    string(LENGTH "${newlines}" line)
    math(EXPR line "${line} + 1")
    string(APPEND before "${code}")
    set(kind "")
    if(text MATCHES "\n<!-- snippet: ([^\n]*)$")
      string(REGEX REPLACE " -->$" "" kind "${CMAKE_MATCH_1}")
    endif()
    if(NOT kind MATCHES "^(|declare|wrap|continue|file [^ ]+)$" OR (kind STREQUAL "continue" AND NOT open))
      message(FATAL_ERROR "${page}:${line}: no snippet is \"${kind}\" here; see cmake/doc_snippets.cmake.")
    endif()

    set(position "#line ${line} \"${page}\"\n")
    if(code MATCHES "int main\\(")
      math(EXPR programs "${programs} + 1")
      norma_snippet_program(${name}_${programs} "${position}${code}")
      continue()
    endif()
    string(REGEX MATCHALL "#include [^\n]*" includes "${code}")
    string(REGEX REPLACE "#(include [^\n]*|pragma once)" "// \\1" code "${code}")  # the lines keep their numbers
    list(JOIN includes "\n" includes)
    string(APPEND snippets_prelude "${includes}\n")
    if(open AND NOT kind STREQUAL "continue")
      string(APPEND body "}\n")
      set(open FALSE)
    endif()
    if(kind STREQUAL "wrap")
      math(EXPR functions "${functions} + 1")
      string(APPEND body "void snippet_${functions}() {\n")
      string(APPEND calls "  snippet_${functions}();\n")
      set(open TRUE)
    endif()
    string(APPEND body "${position}${code}")
  endwhile()
  if(open)
    string(APPEND body "}\n")
  endif()
  if(NOT body STREQUAL "")
    norma_snippet_program(${name}
      "${snippets_prelude}\nnamespace page {\n${body}\n}  // namespace page\nusing namespace page;\nint main() {\n${calls}}\n")
  endif()
endfunction()

# design.md shows sketches, not snippets.
file(GLOB pages CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/docs/*.md")
list(REMOVE_ITEM pages docs/design.md)
foreach(page IN ITEMS README.md LISTS pages)
  norma_doc_snippets("${page}")
endforeach()
