/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/gpu_mark.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"

enum { PATH_BYTES = 4096, NAME_BYTES = 200, LINE_BYTES = 512 };

/* "580.65.06" of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  …"; "unknown". */
static void find_driver(const char *proc_root, char *version, size_t size)
{
    char path[PATH_BYTES], line[LINE_BYTES] = "";
    snprintf(path, sizeof path, "%s/driver/nvidia/version", proc_root);
    snprintf(version, size, "unknown");
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    if (fgets(line, sizeof line, file) != NULL) {
        for (char *at = line; *at != '\0'; at += strcspn(at, " \t\n"), at += strspn(at, " \t\n")) {
            size_t length = strspn(at, "0123456789.");
            if (length > 3 && memchr(at, '.', length) != NULL &&
                (at[length] == ' ' || at[length] == '\0' || at[length] == '\n')) {
                snprintf(version, size, "%.*s", (int)length, at);
                break;
            }
        }
    }
    fclose(file);
}

static bool find_folder(char *path, size_t size)
{
    const char *cache = ss_env_get(SS_ENV_XDG_CACHE_HOME), *home = ss_env_get(SS_ENV_HOME);
    int length = -1;
    if (cache != NULL && cache[0] == '/') {
        length = snprintf(path, size, "%s/stepscope", cache);
    } else if (home != NULL && home[0] == '/') {
        length = snprintf(path, size, "%s/.cache/stepscope", home);
    }
    return length > 0 && (size_t)length < size;
}

bool ss_gpu_mark_path(const struct ss_gpu_mark *mark, char *path, size_t size)
{
    char folder[PATH_BYTES], driver[64], name[NAME_BYTES];
    if (!find_folder(folder, sizeof folder)) {
        return false;
    }
    find_driver(mark->proc_root, driver, sizeof driver);
    snprintf(name, sizeof name, "gpu-%.80s-driver-%s-cupti-%lu", mark->device, driver, mark->cupti);
    for (char *at = name; *at != '\0'; at++) {
        *at = isalnum((unsigned char)*at) || *at == '.' || *at == '-' ? *at : '_';
    }
    int length = snprintf(path, size, "%s/%s.tested", folder, name);
    return length > 0 && (size_t)length < size;
}

bool ss_gpu_mark_exists(const struct ss_gpu_mark *mark)
{
    char path[PATH_BYTES];
    struct stat file;
    return ss_gpu_mark_path(mark, path, sizeof path) && stat(path, &file) == 0 &&
           S_ISREG(file.st_mode);
}

/* The folders of the path, which are the user's own. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700); /* what is there stays; a failure shows at the file */
        *slash = '/';
    }
}

enum ss_status ss_gpu_mark_put(const struct ss_gpu_mark *mark, struct ss_error *err)
{
    char path[PATH_BYTES];
    if (!ss_gpu_mark_path(mark, path, sizeof path)) {
        return ss_fail(err, SS_E_NOTFOUND, "there is no cache folder: set HOME or XDG_CACHE_HOME");
    }
    make_folders(path);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
        return ss_fail_errno(err, errno, "cannot write %.300s", path);
    }
    close(file);
    return SS_OK;
}
