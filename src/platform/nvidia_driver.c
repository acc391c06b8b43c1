/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/nvidia_driver.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/procfs.h"

enum { PATH_BYTES = 512, FILE_BYTES = 16384, MOST_RELEASE = 100000 };

static bool read_file(const char *folder, const char *name, char *text)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path &&
           ss_procfs_read(path, text, FILE_BYTES) >= 0;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  …": the first word with a dot. */
static int release_of(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        bool begins = at == text || isspace((unsigned char)at[-1]);
        size_t digits = strspn(at, "0123456789");
        if (begins && digits > 0 && at[digits] == '.') {
            long release = strtol(at, NULL, 10);
            return release < MOST_RELEASE ? (int)release : 0;
        }
    }
    return 0;
}

void ss_nvidia_driver_read(const char *folder, struct ss_nvidia_driver *driver)
{
    static const char key[] = "RmProfilingAdminOnly: ";
    char text[FILE_BYTES];
    *driver = (struct ss_nvidia_driver){.release = 0};
    if (!read_file(folder, "version", text)) {
        return;
    }
    driver->is_loaded = true;
    driver->release = release_of(text);
    const char *at = read_file(folder, "params", text) ? strstr(text, key) : NULL;
    if (at != NULL) {
        driver->knows_permission = true;
        driver->is_admin_only = at[sizeof key - 1] != '0';
    }
}
