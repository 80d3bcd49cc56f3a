# What all of norma's own programs (tests, benchmarks, examples) share: warnings, sanitizers, instruction sets. Nothing here
# reaches a user of norma::norma.

include(CheckCXXSourceCompiles)
include(CheckCXXSourceRuns)

if(NORMA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(NORMA_CCACHE_PROGRAM ccache)
  mark_as_advanced(NORMA_CCACHE_PROGRAM)
  if(NORMA_CCACHE_PROGRAM)
    # Relative to the source tree, so that two clones of it share their results.
    set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};CCACHE_NOHASHDIR=1;${NORMA_CCACHE_PROGRAM}")
  endif()
endif()

# An instruction-set level: its flags, NORMA_LEVEL_<level>, whether the compiler takes them, NORMA_COMPILES_<level>, and
# whether this machine runs the result, NORMA_RUNS_<level>. The kernels are tested once per level.
set(NORMA_LEVELS "")
function(norma_declare_level level flags features)
  set(NORMA_LEVEL_${level} "${flags}" PARENT_SCOPE)
  list(JOIN flags " " CMAKE_REQUIRED_FLAGS)
  set(CMAKE_REQUIRED_QUIET TRUE)
  check_cxx_source_compiles("int main() {}" NORMA_COMPILES_${level})
  if(NOT NORMA_COMPILES_${level})
    message(STATUS "Level ${level}: not built, the compiler has no such flags")
    return()
  endif()
  if(features STREQUAL "")
    set(NORMA_RUNS_${level} TRUE CACHE INTERNAL "")
  else()
    # Compiled without the level's flags: the question itself must run anywhere.
    set(CMAKE_REQUIRED_FLAGS "")
    list(TRANSFORM features REPLACE "(.+)" "__builtin_cpu_supports(\"\\1\")" OUTPUT_VARIABLE terms)
    list(JOIN terms " && " condition)
    check_cxx_source_runs(
      "int main() { __builtin_cpu_init(); return ${condition} ? 0 : 1; }" NORMA_RUNS_${level})
    if(NOT NORMA_RUNS_${level})
      message(STATUS "Level ${level}: built, not run, this processor lacks it")
    endif()
  endif()
  set(NORMA_LEVELS "${NORMA_LEVELS};${level}" PARENT_SCOPE)
endfunction()

if(NORMA_BUILD_TESTS)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    norma_declare_level(scalar "-march=x86-64;-DNORMA_SCALAR=1" "")
    norma_declare_level(sse2 "-march=x86-64" "")
    norma_declare_level(avx2 "-march=x86-64;-mavx2;-mfma;-mf16c;-mbmi2" "avx2;fma;bmi2")
    norma_declare_level(avx512 "-march=x86-64-v4" "avx512f;avx512bw;avx512cd;avx512dq;avx512vl")
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    norma_declare_level(scalar "-DNORMA_SCALAR=1" "")
    norma_declare_level(neon "" "")
  else()
    norma_declare_level(scalar "-DNORMA_SCALAR=1" "")
    norma_declare_level(native "" "")
  endif()
  list(REMOVE_ITEM NORMA_LEVELS "")
endif()

# norma_program(<target> [LEVEL <level>]): the settings of one of our own programs. With a level its flags are used instead of
# NORMA_NATIVE's.
function(norma_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LEVEL" "")
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${target} PRIVATE norma::norma)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wcast-align
    # GCC 12's own AVX-512 header reads what it declares undefined, and Eigen's code passes through it.
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-maybe-uninitialized>
    $<$<BOOL:${NORMA_WERROR}>:-Werror>)
  if(arg_LEVEL)
    target_compile_options(${target} PRIVATE ${NORMA_LEVEL_${arg_LEVEL}})
  elseif(NORMA_NATIVE)
    target_compile_options(${target} PRIVATE -march=native)
  endif()
  if(NORMA_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${NORMA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
      # GCC documents false alarms of this warning under instrumentation.
      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${target} PRIVATE -fsanitize=${NORMA_SANITIZE})
  endif()
endfunction()

# The other compiler: NORMA_OTHER_CXX, Clang beside GCC or GCC beside any other, when there is one that is new enough. Some
# tests are built with both.
if(NORMA_BUILD_TESTS AND NOT CMAKE_CROSSCOMPILING)
  set(norma_other_names g++)
  set(norma_other_oldest 12)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(norma_other_names clang++)
    foreach(version RANGE 14 30)
      list(APPEND norma_other_names clang++-${version})
    endforeach()
    set(norma_other_oldest 14)
  endif()
  find_program(NORMA_OTHER_CXX NAMES ${norma_other_names} DOC "A second compiler for some of norma's tests")
  mark_as_advanced(NORMA_OTHER_CXX)
  if(NORMA_OTHER_CXX)
    execute_process(COMMAND "${NORMA_OTHER_CXX}" -dumpversion OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(version VERSION_LESS norma_other_oldest)
      set(NORMA_OTHER_CXX "")
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(NORMA_COMPILER gcc)
    set(NORMA_OTHER_COMPILER clang)
  else()
    set(NORMA_COMPILER clang)
    set(NORMA_OTHER_COMPILER gcc)
  endif()
  if(NORMA_OTHER_CXX)
    message(STATUS "Second compiler: ${NORMA_OTHER_CXX}")
  else()
    message(STATUS "Second compiler: none; tests that use two are built with ${NORMA_COMPILER} alone")
  endif()
endif()

# norma_flags_test(<name> SOURCES ... FLAGS ... [PLAIN ... [PLAIN_FLAGS ...]]): one program without GoogleTest, built with these
# flags by this compiler, and by the other one when there is one; run as <name>.gcc and <name>.clang. The PLAIN sources are built
# with PLAIN_FLAGS instead.
function(norma_flags_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;FLAGS;PLAIN;PLAIN_FLAGS")
  set(support "${PROJECT_SOURCE_DIR}/tests/support")
  set(target ${name}_${NORMA_COMPILER})
  add_executable(${target} ${arg_SOURCES})
  norma_program(${target})
  target_include_directories(${target} PRIVATE "${support}")
  target_compile_options(${target} PRIVATE ${arg_FLAGS})
  target_link_options(${target} PRIVATE ${arg_FLAGS})
  if(arg_PLAIN)
    add_library(${target}_plain OBJECT ${arg_PLAIN})
    norma_program(${target}_plain)
    target_compile_options(${target}_plain PRIVATE ${arg_PLAIN_FLAGS})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_plain>)
  endif()
  add_test(NAME ${name}.${NORMA_COMPILER} COMMAND ${target})
  set_tests_properties(${name}.${NORMA_COMPILER} PROPERTIES LABELS quick TIMEOUT 300)
  if(NOT NORMA_OTHER_CXX OR NORMA_SANITIZE)
    return()
  endif()

  # CMake knows one compiler a language, so the other one is called by hand.
  get_target_property(eigen_directories Eigen3::Eigen INTERFACE_INCLUDE_DIRECTORIES)
  list(TRANSFORM eigen_directories PREPEND -isystem)
  set(options -std=c++20 -O2 -Wall -Wextra -Wpedantic -Wshadow "-I${PROJECT_SOURCE_DIR}/include" "-I${support}"
    ${eigen_directories})
  if(NORMA_WERROR)
    list(APPEND options -Werror)
  endif()
  set(objects "")
  foreach(source IN LISTS arg_SOURCES arg_PLAIN)
    set(flags ${arg_FLAGS})
    if(source IN_LIST arg_PLAIN)
      set(flags ${arg_PLAIN_FLAGS})
    endif()
    get_filename_component(stem "${source}" NAME_WE)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}.${NORMA_OTHER_COMPILER}.${stem}.o")
    add_custom_command(OUTPUT "${object}"
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} "${NORMA_OTHER_CXX}" ${options} ${flags} -MD -MT "${object}" -MF "${object}.d"
        -c "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o "${object}"
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}" DEPFILE "${object}.d"
      COMMENT "Building ${source} of ${name} with ${NORMA_OTHER_CXX}" VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  set(program "${CMAKE_CURRENT_BINARY_DIR}/${name}.${NORMA_OTHER_COMPILER}")
  add_custom_command(OUTPUT "${program}"
    COMMAND "${NORMA_OTHER_CXX}" ${arg_FLAGS} ${objects} -o "${program}" DEPENDS ${objects}
    COMMENT "Linking ${name} with ${NORMA_OTHER_CXX}" VERBATIM)
  add_custom_target(${name}_${NORMA_OTHER_COMPILER} ALL DEPENDS "${program}")
  add_test(NAME ${name}.${NORMA_OTHER_COMPILER} COMMAND "${program}")
  set_tests_properties(${name}.${NORMA_OTHER_COMPILER} PROPERTIES LABELS quick TIMEOUT 300)
endfunction()
