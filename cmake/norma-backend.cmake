# norma_use_backend(<target>): NORMA_BACKEND's library and definition for whoever links the target. norma has headers alone, so
# the choice is the user's with an installed norma, too: an installation does not record it.
include(CheckCXXSourceCompiles)

function(norma_use_backend target)
  if(NOT DEFINED NORMA_BACKEND OR NORMA_BACKEND STREQUAL "own")
    return()
  elseif(NORMA_BACKEND STREQUAL "blas")
    find_package(BLAS QUIET)
    find_path(NORMA_CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas DOC "Where cblas.h is")
    mark_as_advanced(NORMA_CBLAS_INCLUDE_DIR)
    if(BLAS_FOUND AND NORMA_CBLAS_INCLUDE_DIR)
      set(CMAKE_REQUIRED_LIBRARIES BLAS::BLAS)
      set(CMAKE_REQUIRED_INCLUDES "${NORMA_CBLAS_INCLUDE_DIR}")
      set(CMAKE_REQUIRED_QUIET TRUE)
      unset(NORMA_CBLAS_LINKS CACHE)  # asked again after an installation
      check_cxx_source_compiles("
        #include <cblas.h>
        int main() {
          float c = 0;
          cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1, &c, 1, &c, 1, 0, &c, 1);
        }" NORMA_CBLAS_LINKS)
    endif()
    if(NOT NORMA_CBLAS_LINKS)
      message(FATAL_ERROR
        "NORMA_BACKEND=blas needs a BLAS with the C interface, cblas.h: install libopenblas-dev (Debian) or set BLA_VENDOR "
        "and NORMA_CBLAS_INCLUDE_DIR.")
    endif()
    target_include_directories(${target} SYSTEM INTERFACE $<BUILD_INTERFACE:${NORMA_CBLAS_INCLUDE_DIR}>)
    set(library BLAS::BLAS)
    set(definition NORMA_BACKEND_BLAS=1)
  elseif(NORMA_BACKEND STREQUAL "onednn")
    find_package(dnnl QUIET CONFIG)
    if(NOT TARGET DNNL::dnnl)
      message(FATAL_ERROR "NORMA_BACKEND=onednn needs oneDNN: install libdnnl-dev (Debian) or set dnnl_DIR.")
    endif()
    set(library DNNL::dnnl)
    set(definition NORMA_BACKEND_ONEDNN=1)
  else()
    message(FATAL_ERROR "NORMA_BACKEND is '${NORMA_BACKEND}', not own, blas or onednn.")
  endif()
  target_link_libraries(${target} INTERFACE $<BUILD_INTERFACE:${library}>)
  target_compile_definitions(${target} INTERFACE $<BUILD_INTERFACE:${definition}>)
endfunction()
