/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/python_installs.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_INSTALLED = 64, MAX_RUNNING = 256 };

bool ss_python_version_in_name(const char *name, int *major, int *minor)
{
    const char *base = strrchr(name, '/');
    base = base != NULL ? base + 1 : name;
    if (strncmp(base, "lib", 3) == 0) {
        base += 3;
    }
    int used = 0;
    if (sscanf(base, "python%1d.%2d%n", major, minor, &used) != 2) {
        return false;
    }
    /* ABI flags may follow ("d", "m", "t"), or a library suffix. */
    const char *rest = base + used;
    rest += strspn(rest, "dmtu");
    return *rest == '\0' || strncmp(rest, ".so", 3) == 0 || strcmp(rest, " (deleted)") == 0;
}

/* Script launchers (pyenv's shims) are not interpreters. */
static bool is_elf(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    char magic[4] = {0};
    bool elf =
        fread(magic, 1, sizeof magic, file) == sizeof magic && memcmp(magic, "\177ELF", 4) == 0;
    fclose(file);
    return elf;
}

static void add_installed(const char *path, struct ss_python_installs *found)
{
    char real[PATH_MAX];
    struct ss_python_install install = {.pid = 0};
    bool skip = realpath(path, real) == NULL || strlen(real) >= sizeof install.path ||
                !ss_python_version_in_name(real, &install.major, &install.minor) ||
                access(real, X_OK) != 0 || found->count >= MAX_INSTALLED || !is_elf(real);
    for (size_t i = 0; !skip && i < found->count; i++) {
        skip = strcmp(found->data[i].path, real) == 0;
    }
    if (!skip) {
        memcpy(install.path, real, strlen(real) + 1); /* it fits: checked above */
        ss_vec_push(found, install);
    }
}

static void scan_folder(const char *folder, struct ss_python_installs *found)
{
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return;
    }
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (strncmp(entry->d_name, "python", 6) != 0 || strstr(entry->d_name, "config") != NULL) {
            continue;
        }
        char path[1024];
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path) {
            add_installed(path, found);
        }
    }
    closedir(entries);
}

static int by_version(const void *a, const void *b)
{
    const struct ss_python_install *left = a, *right = b;
    int order =
        left->major != right->major ? left->major - right->major : left->minor - right->minor;
    return order != 0 ? order : strcmp(left->path, right->path);
}

void ss_python_installs_find(const char *path_variable, const char *home,
                             struct ss_python_installs *found)
{
    for (const char *at = path_variable; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, ":");
        char folder[512];
        if (length > 0 && length < sizeof folder) {
            snprintf(folder, sizeof folder, "%.*s", (int)length, at);
            scan_folder(folder, found);
        }
        at += length + (at[length] == ':');
    }
    char versions[512];
    if (home != NULL &&
        snprintf(versions, sizeof versions, "%s/.pyenv/versions", home) < (int)sizeof versions) {
        DIR *entries = opendir(versions);
        for (struct dirent *entry = entries != NULL ? readdir(entries) : NULL; entry != NULL;
             entry = readdir(entries)) {
            char folder[1024];
            if (entry->d_name[0] != '.') {
                snprintf(folder, sizeof folder, "%s/%s/bin", versions, entry->d_name);
                scan_folder(folder, found);
            }
        }
        if (entries != NULL) {
            closedir(entries);
        }
    }
    if (found->count > 1) {
        qsort(found->data, found->count, sizeof *found->data, by_version);
    }
}

/* Reads the version from the executable's name, else from the name of a mapped libpython. */
static bool version_of_process(pid_t pid, struct ss_python_install *install)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t length = readlink(link, install->path, sizeof install->path - 1);
    if (length <= 0) {
        return false;
    }
    install->path[length] = '\0';
    if (ss_python_version_in_name(install->path, &install->major, &install->minor)) {
        return true;
    }
    snprintf(link, sizeof link, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(link, "re");
    if (maps == NULL) {
        return false;
    }
    char line[1024];
    bool found = false;
    while (!found && fgets(line, sizeof line, maps) != NULL) {
        char *name = strstr(line, "/libpython");
        if (name != NULL) {
            line[strcspn(line, "\n")] = '\0';
            found = ss_python_version_in_name(name, &install->major, &install->minor);
        }
    }
    fclose(maps);
    return found;
}

void ss_python_processes_find(struct ss_python_installs *found)
{
    DIR *entries = opendir("/proc");
    if (entries == NULL) {
        return;
    }
    size_t before = found->count;
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        char path[300];
        snprintf(path, sizeof path, "/proc/%s", entry->d_name);
        struct stat status;
        if (!isdigit((unsigned char)entry->d_name[0]) || found->count - before >= MAX_RUNNING ||
            stat(path, &status) != 0 || status.st_uid != geteuid()) {
            continue;
        }
        struct ss_python_install install = {.pid = (pid_t)strtol(entry->d_name, NULL, 10)};
        if (version_of_process(install.pid, &install)) {
            ss_vec_push(found, install);
        }
    }
    closedir(entries);
}
