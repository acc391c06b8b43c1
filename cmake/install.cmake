# SPDX-License-Identifier: Apache-2.0
# The tree that `cmake --install`, `make install` and `pip install .` all give.
include(CMakePackageConfigHelpers)

install(TARGETS stepscope RUNTIME DESTINATION bin)
install(TARGETS stepscope_reader stepscope_runtime EXPORT stepscope
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(TARGETS stepscope_preload stepscope_rocm LIBRARY DESTINATION libexec/stepscope)
install(FILES "${CMAKE_SOURCE_DIR}/src/inject/python/sitecustomize.py"
  DESTINATION libexec/stepscope/python)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/include/stepscope" DESTINATION include
  FILES_MATCHING PATTERN "*.h")
install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" DESTINATION share/doc/stepscope)

# pkg-config and CMake find the prefix from where they lie: the tree may be moved.
configure_file(packaging/stepscope-reader.pc.in stepscope-reader.pc @ONLY)
configure_file(packaging/stepscope.pc.in stepscope.pc @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/stepscope-reader.pc" "${CMAKE_BINARY_DIR}/stepscope.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
configure_package_config_file(packaging/stepscope-config.cmake.in stepscope-config.cmake
  INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/stepscope")
write_basic_package_version_file(stepscope-config-version.cmake COMPATIBILITY SameMajorVersion)
install(EXPORT stepscope NAMESPACE stepscope:: FILE stepscope-targets.cmake
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/stepscope")
install(FILES "${CMAKE_BINARY_DIR}/stepscope-config.cmake"
  "${CMAKE_BINARY_DIR}/stepscope-config-version.cmake"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/stepscope")

# The built program writes its own man page and completion; it cannot when it is for another
# machine.
if(NOT CMAKE_CROSSCOMPILING)
  set(manual "${CMAKE_BINARY_DIR}/generated/stepscope.1")
  set(completion "${CMAKE_BINARY_DIR}/generated/stepscope.bash")
  add_custom_command(OUTPUT "${manual}" "${completion}"
    COMMAND stepscope help --format man > "${manual}"
    COMMAND stepscope help --format bash > "${completion}"
    DEPENDS stepscope VERBATIM)
  add_custom_target(stepscope_manual ALL DEPENDS "${manual}" "${completion}")
  install(FILES "${manual}" DESTINATION share/man/man1)
  install(FILES "${completion}" DESTINATION share/bash-completion/completions RENAME stepscope)
endif()
