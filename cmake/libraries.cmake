# SPDX-License-Identifier: Apache-2.0
# The libraries that are linked. What is missing is said at once, with the commands that bring it.
set(missing_names "")
set(missing_apt "")
set(missing_dnf "")
set(missing_zypper "")

macro(stepscope_missing name apt dnf zypper)
  list(APPEND missing_names "${name}")
  list(APPEND missing_apt ${apt})
  list(APPEND missing_dnf ${dnf})
  list(APPEND missing_zypper ${zypper})
endmacro()

macro(stepscope_library prefix module apt dnf zypper)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${module})
  endif()
  if(NOT ${prefix}_FOUND)
    stepscope_missing(${module} ${apt} ${dnf} ${zypper})
  endif()
endmacro()

find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)
if(NOT PKG_CONFIG_FOUND)
  stepscope_missing(pkg-config pkg-config pkgconf-pkg-config pkg-config)
endif()
find_package(ZLIB QUIET)
if(NOT ZLIB_FOUND)
  stepscope_missing(zlib zlib1g-dev zlib-devel zlib-devel)
endif()
stepscope_library(LIBELF libelf libelf-dev elfutils-libelf-devel libelf-devel)
stepscope_library(JANSSON jansson libjansson-dev jansson-devel libjansson-devel)
stepscope_library(LIBARCHIVE libarchive libarchive-dev libarchive-devel libarchive-devel)
stepscope_library(SQLITE sqlite3 libsqlite3-dev sqlite-devel sqlite3-devel)
stepscope_library(SMARTCOLS smartcols libsmartcols-dev libsmartcols-devel libsmartcols-devel)
find_path(UTHASH_INCLUDE_DIR uthash.h)
if(NOT UTHASH_INCLUDE_DIR)
  stepscope_missing(uthash uthash-dev uthash-devel uthash-devel)
endif()

if(missing_names)
  string(REPLACE ";" ", " names "${missing_names}")
  string(REPLACE ";" " " apt "${missing_apt}")
  string(REPLACE ";" " " dnf "${missing_dnf}")
  string(REPLACE ";" " " zypper "${missing_zypper}")
  # Several lines, because CMake breaks one line at will.
  message(FATAL_ERROR "stepscope cannot be built without: ${names}. Install them:\n"
    "  apt-get install ${apt}\n  dnf install ${dnf}\n  zypper install ${zypper}\n"
    "or install a package that needs no compiler: docs/install.md\n")
endif()

# Without it, `stepscope view` says what to install.
pkg_check_modules(MICROHTTPD QUIET IMPORTED_TARGET libmicrohttpd)
