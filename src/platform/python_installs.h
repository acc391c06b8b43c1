/* SPDX-License-Identifier: Apache-2.0 */
/* CPython on this machine: installations (PATH and pyenv) and running processes. Reads names, links
 * and mapped files only; starts no process. Owned by the caller. */
#ifndef SS_PLATFORM_PYTHON_INSTALLS_H
#define SS_PLATFORM_PYTHON_INSTALLS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"

struct ss_python_install {
    char path[512]; /* of the executable, links resolved */
    int major, minor;
    pid_t pid; /* 0: an installation, else a running process of this user */
};

struct ss_python_installs ss_vec_of(struct ss_python_install);

/* Caps: 64 installations, 256 processes. */
void ss_python_installs_find(const char *path_variable, const char *home,
                             struct ss_python_installs *found);
void ss_python_processes_find(struct ss_python_installs *found);

/* Parses "python3.11", "libpython3.11.so.1.0", "python3.13t" …; false: another kind of name. */
bool ss_python_version_in_name(const char *name, int *major, int *minor);

#endif
