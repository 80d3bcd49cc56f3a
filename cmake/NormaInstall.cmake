# `cmake --install <build> [--prefix <where>]`, also with DESTDIR: the headers, the CMake package and norma.pc. Nothing in them
# depends on the machine, so the package files live under share/, and none names an absolute path.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(norma_package_directory "${CMAKE_INSTALL_DATADIR}/cmake/norma")
set(norma_pkgconfig_directory "${CMAKE_INSTALL_DATADIR}/pkgconfig")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/norma" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/norma")

# find_package(norma)
install(TARGETS norma EXPORT norma-targets INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT norma-targets NAMESPACE norma:: DESTINATION "${norma_package_directory}")
# Before 1.0 a minor version may break what the last one promised.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(norma_compatibility SameMinorVersion)
else()
  set(norma_compatibility SameMajorVersion)
endif()
write_basic_package_version_file("${PROJECT_BINARY_DIR}/norma-config-version.cmake"
  COMPATIBILITY ${norma_compatibility} ARCH_INDEPENDENT)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/norma-config.cmake" "${PROJECT_SOURCE_DIR}/cmake/norma-backend.cmake"
  "${PROJECT_BINARY_DIR}/norma-config-version.cmake"
  DESTINATION "${norma_package_directory}")

# pkg-config norma
file(RELATIVE_PATH norma_pkgconfig_to_include
  "${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/norma.pc.in" "${PROJECT_BINARY_DIR}/norma.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/norma.pc" DESTINATION "${norma_pkgconfig_directory}")
