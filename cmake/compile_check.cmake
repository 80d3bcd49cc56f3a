# One compile-fail or compile-pass test, run as
#   cmake -DEXPECT=fail|pass -DCOMPILER=c++ -DFLAGS="-std=c++20;..." -DSOURCE=file.cpp -P compile_check.cmake
#
# A program that must not compile has, near its top, a line `// error: <regex>`: the first error line of the compiler must match
# it; or a line `// error-any: <regex>`: some error line must. The regular expressions are CMake's.
set(ENV{LC_ALL} C)
execute_process(
  COMMAND "${COMPILER}" ${FLAGS} "${SOURCE}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)

if(EXPECT STREQUAL "pass")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${SOURCE} should compile, but does not:\n${output}")
  endif()
  return()
endif()

file(READ "${SOURCE}" text)
if(NOT text MATCHES "(^|\n)// (error|error-any): ([^\n]+)")
  message(FATAL_ERROR "${SOURCE} must have a line `// error: <regex>` or `// error-any: <regex>`.")
endif()
set(kind "${CMAKE_MATCH_2}")
set(wanted "${CMAKE_MATCH_3}")
if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles, but should not.")
endif()
# Walk over the lines of the form `file:line:column: error: text`; quoted source lines do not have it.
set(rest "${output}")
while(rest MATCHES "(^|\n)([^\n|]*: (fatal )?error: [^\n]*)")
  set(line "${CMAKE_MATCH_2}")
  if(line MATCHES "${wanted}")
    return()
  endif()
  if(kind STREQUAL "error")
    message(FATAL_ERROR "${SOURCE}: the first error is\n  ${line}\nand does not match\n  ${wanted}\nAll output:\n${output}")
  endif()
  string(FIND "${rest}" "${line}" at)
  string(LENGTH "${line}" length)
  math(EXPR at "${at} + ${length}")
  string(SUBSTRING "${rest}" ${at} -1 rest)
endwhile()
message(FATAL_ERROR "${SOURCE}: no error line matches\n  ${wanted}\nAll output:\n${output}")
