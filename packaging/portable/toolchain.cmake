# SPDX-License-Identifier: Apache-2.0
# For another machine, or for this one with an older C library: $CC, $AR and $RANLIB are the compiler
# and its tools, $STEPSCOPE_PROCESSOR the processor, $STEPSCOPE_SYSROOT the folder of the libraries
# that are linked, as static ones.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "$ENV{STEPSCOPE_PROCESSOR}")
set(CMAKE_C_COMPILER "$ENV{CC}")
set(CMAKE_AR "$ENV{AR}" CACHE FILEPATH "")
set(CMAKE_RANLIB "$ENV{RANLIB}" CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH "$ENV{STEPSCOPE_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(PKG_CONFIG_ARGN --static CACHE STRING "")
