# A leaf unit offers the program one name, layer_norm_<level>: cmake -DNM=nm -DLEAVES=paths -P check_names.cmake
cmake_minimum_required(VERSION 3.21)
foreach(leaf IN LISTS LEAVES)
  execute_process(COMMAND "${NM}" --defined-only --extern-only "${leaf}" RESULT_VARIABLE status OUTPUT_VARIABLE names)
  if(NOT status EQUAL 0 OR NOT names MATCHES "^[0-9a-f]+ T layer_norm_[a-z0-9]+\n$")
    message(FATAL_ERROR "${leaf} offers other names than its function:\n${names}")
  endif()
endforeach()
