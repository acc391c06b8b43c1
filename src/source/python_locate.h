/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the CPython runtime in a process: /proc/PID/maps, ELF symbols and sections of the
 * executable and of libpython (through /proc/PID/root, so that containers work). */
#ifndef SS_SOURCE_PYTHON_LOCATE_H
#define SS_SOURCE_PYTHON_LOCATE_H

#include <sys/types.h>

#include "base/error.h"
#include "unwind/python.h"

/* SS_E_NOTFOUND: no CPython is mapped (not a Python program, or not yet). SS_E_UNSUPPORTED: a
 * Python that cannot be read (2.7, 3.7, PyPy), named in the message. Results are cached by (device,
 * inode, mtime) of the file: a second process with the same interpreter costs only a read of its
 * maps. */
enum ss_status ss_python_locate(pid_t pid, struct ss_python_location *location,
                                struct ss_error *err);

#endif
