# Runs a program and checks how it ends:
#   cmake -DPROGRAM=path -DARGUMENTS="--a;b" -DSTATUS=2 [-DERROR_LINES=1] -P expect_exit.cmake
# ERROR_LINES is the number of lines that standard error must have.
execute_process(
  COMMAND "${PROGRAM}" ${ARGUMENTS}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(NOT status STREQUAL "${STATUS}")
  message(FATAL_ERROR "${PROGRAM} ${ARGUMENTS} ended with ${status} instead of ${STATUS}:\n${output}${errors}")
endif()
if(DEFINED ERROR_LINES)
  string(REGEX MATCHALL "\n" ends "${errors}")
  list(LENGTH ends lines)
  if(NOT lines EQUAL ERROR_LINES)
    message(FATAL_ERROR "${PROGRAM} ${ARGUMENTS} wrote ${lines} lines of error, not ${ERROR_LINES}:\n${errors}")
  endif()
endif()
