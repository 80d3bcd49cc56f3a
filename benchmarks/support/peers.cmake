# The libraries to compare with. Each is used only where NORMA_PEERS_DIR has it.
set(NORMA_PEERS_DIR "" CACHE PATH "Where benchmarks/install_peers.sh put the libraries to compare with; empty: none")

set(peer_torch "")
if(NORMA_PEERS_DIR)
  file(GLOB peer_torch "${NORMA_PEERS_DIR}/torch/lib/python3*/site-packages/torch")
  if(peer_torch AND NOT EXISTS "${peer_torch}/lib/libtorch_cpu.so")
    set(peer_torch "")
  endif()
endif()

# benchmark_torch(<program>): its torch.cpp and the definition BENCHMARK_TORCH, where torch is there; appends to `peers`. Torch's own
# package file asks for more than a benchmark needs; two libraries are enough.
function(benchmark_torch target)
  if(NOT peer_torch)
    return()
  endif()
  set(peers "${peers}, torch" PARENT_SCOPE)
  target_sources(${target} PRIVATE torch.cpp)
  target_compile_definitions(${target} PRIVATE BENCHMARK_TORCH)
  target_include_directories(${target} SYSTEM PRIVATE
    "${peer_torch}/include" "${peer_torch}/include/torch/csrc/api/include")
  target_link_libraries(${target} PRIVATE "${peer_torch}/lib/libtorch_cpu.so" "${peer_torch}/lib/libc10.so")
  set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH "${peer_torch}/lib")
endfunction()

# benchmark_table(<program> <folder of its table.py> <arguments by default> [<arguments of table.py>...]): the target that runs a
# program and prints its table, named like it: norm_benchmark, norm_table.
find_package(Python3 QUIET COMPONENTS Interpreter)
function(benchmark_table program folder default)
  if(NOT Python3_FOUND)
    return()
  endif()
  string(REPLACE "_benchmark" "_table" table "${program}")
  string(TOUPPER "${table}" name)
  set(${name}_ARGUMENTS "${default}" CACHE STRING "Arguments of ${program} when it is run by the target ${table}")
  add_custom_target(${table}
    COMMAND Python3::Interpreter "${folder}/table.py" "${PROJECT_BINARY_DIR}/benchmarks/${table}.json" ${ARGN}
      --run "$<TARGET_FILE:${program}>" ${${name}_ARGUMENTS}
    DEPENDS ${program} COMMAND_EXPAND_LISTS VERBATIM USES_TERMINAL)
endfunction()
