# find_package(norma) defines norma::norma, an INTERFACE target: include directories, C++20 and Eigen; no other flags. With NORMA_BACKEND
# set to blas or onednn beforehand, also that library and the definition that chooses it.
include(CMakeFindDependencyMacro)

# Without a version: Eigen's own version file accepts only its own major number, and both 3.4 and 5 will do.
if(NOT TARGET Eigen3::Eigen)
  find_dependency(Eigen3 NO_MODULE)
  if(Eigen3_VERSION VERSION_LESS 3.4)
    set(norma_FOUND FALSE)
    set(norma_NOT_FOUND_MESSAGE "norma needs Eigen 3.4 or newer, found ${Eigen3_VERSION}.")
    return()
  endif()
endif()

include("${CMAKE_CURRENT_LIST_DIR}/norma-targets.cmake")

include("${CMAKE_CURRENT_LIST_DIR}/norma-backend.cmake")
norma_use_backend(norma::norma)
