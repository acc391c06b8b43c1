/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { MAX_TEXT_BYTES = 64 << 20, PATH_BYTES = PATH_MAX + 64 };

static enum ss_status read_text(pid_t pid, struct ss_strbuf *text, struct ss_error *err)
{
    char path[64], piece[16384];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? ss_fail(err, SS_E_GONE, "there is no process %d", (int)pid)
                               : ss_fail_errno(err, errno, "cannot read %s", path);
    }
    ssize_t got;
    while ((got = read(fd, piece, sizeof piece)) > 0 || (got < 0 && errno == EINTR)) {
        if (got > 0) {
            ss_strbuf_append(text, piece, (size_t)got);
        }
    }
    int error = got < 0 ? errno : 0;
    close(fd);
    if (error != 0) {
        return ss_fail_errno(err, error, "cannot read %s", path);
    }
    return text->overflow
               ? ss_fail(err, SS_E_LIMIT, "%s is longer than %d MiB", path, MAX_TEXT_BYTES >> 20)
               : SS_OK;
}

static void strip_deleted_suffix(char *path, struct ss_map *map)
{
    static const char suffix[] = " (deleted)";
    size_t length = strlen(path), tail = sizeof suffix - 1;
    if (length > tail && strcmp(path + length - tail, suffix) == 0) {
        path[length - tail] = '\0';
        map->is_deleted = true;
    }
}

/* Parses one line: start-end rwxp offset major:minor inode path. */
static bool parse_line(char *line, struct ss_map *map)
{
    char permissions[5];
    int path_at = 0;
    memset(map, 0, sizeof *map);
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*x:%*x %" SCNu64 " %n", &map->start,
               &map->end, permissions, &map->offset, &map->inode, &path_at) < 5 ||
        strlen(permissions) != 4 || path_at == 0) {
        return false;
    }
    map->is_readable = permissions[0] == 'r';
    map->is_writable = permissions[1] == 'w';
    map->is_executable = permissions[2] == 'x';
    strip_deleted_suffix(line + path_at, map);
    map->path = line + path_at;
    return true;
}

enum ss_status ss_maps_read(pid_t pid, struct ss_maps *maps, struct ss_error *err)
{
    struct ss_strbuf text;
    struct ss_vec_of(struct ss_map) entries = {0};
    memset(maps, 0, sizeof *maps);
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    enum ss_status status = read_text(pid, &text, err);
    if (status != SS_OK) {
        ss_strbuf_fini(&text);
        return status;
    }
    maps->text = ss_strbuf_take(&text);
    ss_strbuf_fini(&text); /* frees what ss_strbuf_take leaves */
    char *rest = maps->text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        struct ss_map map;
        if (parse_line(line, &map)) {
            ss_vec_push(&entries, map);
        }
    }
    maps->maps = entries.data;
    maps->count = entries.count;
    return SS_OK;
}

void ss_maps_fini(struct ss_maps *maps)
{
    ss_free(maps->maps);
    ss_free(maps->text);
    memset(maps, 0, sizeof *maps);
}

static int open_checked(const char *path, uint64_t inode)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return -1;
    }
    /* The device is not compared: overlay and btrfs report different devices in maps and stat. */
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_ino != inode) {
        close(fd);
        return -1;
    }
    return fd;
}

int ss_map_open_file(pid_t pid, const struct ss_map *map)
{
    char path[PATH_BYTES];
    int fd = -1;
    if (map->inode == 0 || map->path[0] != '/') {
        return -1;
    }
    if (!map->is_deleted) {
        int length = snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, map->path);
        fd = length < (int)sizeof path ? open_checked(path, map->inode) : -1;
    }
    if (fd < 0) {
        snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, map->start,
                 map->end);
        fd = open_checked(path, map->inode);
    }
    if (fd < 0) {
        snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
        fd = open_checked(path, map->inode);
    }
    return fd;
}
