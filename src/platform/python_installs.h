/* SPDX-License-Identifier: Apache-2.0 */
/* CPython on this machine: what is installed (PATH and pyenv) and what runs now. Looks at names,
 * links and mapped files only; starts nothing. Owned by the caller. */
#ifndef SS_PLATFORM_PYTHON_INSTALLS_H
#define SS_PLATFORM_PYTHON_INSTALLS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"

struct ss_python_install {
    char path[512]; /* of the executable, links resolved */
    int major, minor;
    pid_t pid; /* 0: installed, else a process of this user that runs it */
};

struct ss_python_installs ss_vec_of(struct ss_python_install);

/* Caps: 64 installations, 256 processes. */
void ss_python_installs_find(const char *path_variable, const char *home,
                             struct ss_python_installs *found);
void ss_python_processes_find(struct ss_python_installs *found);

/* "python3.11", "libpython3.11.so.1.0", "python3.13t" …; false: not such a name. */
bool ss_python_version_in_name(const char *name, int *major, int *minor);

#endif
