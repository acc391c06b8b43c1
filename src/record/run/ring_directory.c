/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/ring_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "platform/maps.h"
#include "platform/procfs.h"
#include "ring/folder.h"
#include "ring/page_guard.h"
#include "ring/sealed.h"
#include "source/ring_file.h"

enum {
    PATH_BYTES = SS_RING_DIRECTORY_PATH_BYTES,
    REASON_BYTES = SS_RING_DIRECTORY_REASON_BYTES,
    MOST_NAME_BYTES = 48 /* of a file that programs create */
};

static bool has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), wanted = strlen(suffix);
    return length > wanted && strcmp(name + length - wanted, suffix) == 0;
}

/* --- leftovers of killed recorders and programs ---------------------------------------------- */

/* A notification file is removed by its reader, if that lives. */
static bool has_live_reader(const char *name)
{
    char ring[64];
    pid_t pid;
    uint64_t start;
    size_t length = strlen(name), suffix = sizeof SS_RING_SEALED_SUFFIX - 1;
    if (!has_suffix(name, SS_RING_SEALED_SUFFIX) || length > 40) {
        return false;
    }
    snprintf(ring, sizeof ring, "%.*s" SS_RING_FILE_SUFFIX, (int)(length - suffix), name);
    return ss_ring_file_parse_name(ring, &pid, &start) && ss_procfs_is_alive(pid, start);
}

static void remove_directory(const char *directory)
{
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        char path[PATH_BYTES];
        int length = snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (length > 0 && (size_t)length < sizeof path && !has_live_reader(entry->d_name)) {
            unlink(path); /* fails for "." and ".." */
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    rmdir(directory);
}

/* The ring files of live processes go to the user's directory, where a recorder can attach to them;
 * their own recorder was killed. */
static void move_live_rings(const char *directory, const char *user_directory)
{
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        char from[PATH_BYTES], to[PATH_BYTES];
        pid_t pid;
        uint64_t start;
        if (ss_ring_file_parse_name(entry->d_name, &pid, &start) &&
            ss_procfs_is_alive(pid, start)) {
            int length = snprintf(from, sizeof from, "%s/%s", directory, entry->d_name);
            snprintf(to, sizeof to, "%s/%s", user_directory, entry->d_name);
            if (length > 0 && (size_t)length < sizeof from && access(to, F_OK) != 0) {
                rename(from, to);
            }
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

/* Whether the entry of a user's directory carries the identity of a process: a ring, a notification
 * file, a profile of torch.profiler, or ("rPID…") a recorder's directory. */
static bool parse_owner(const char *entry, bool is_directory, pid_t *pid, uint64_t *start)
{
    char name[64];
    snprintf(name, sizeof name, "%.40s%s", entry + is_directory,
             is_directory ? SS_RING_FILE_SUFFIX : "");
    if (!ss_ring_file_parse_profile_name(entry, name) && has_suffix(name, SS_RING_SEALED_SUFFIX)) {
        char *suffix = strrchr(name, '.');
        snprintf(suffix, sizeof name - (size_t)(suffix - name), SS_RING_FILE_SUFFIX);
    }
    return strlen(entry) <= MOST_NAME_BYTES && ss_ring_file_parse_name(name, pid, start);
}

static void sweep(const char *user_directory)
{
    DIR *entries = opendir(user_directory);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        char path[PATH_BYTES];
        pid_t pid;
        uint64_t start;
        bool is_directory = entry->d_name[0] == 'r';
        if (!parse_owner(entry->d_name, is_directory, &pid, &start) ||
            ss_procfs_is_alive(pid, start)) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", user_directory, entry->d_name);
        if (!is_directory) {
            unlink(path);
        } else if (ss_ring_folder_is_safe(path)) {
            move_live_rings(path, user_directory);
            remove_directory(path);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

/* --- a recording's own directory ------------------------------------------------------------- */

uint64_t ss_ring_directory_free_bytes(const struct ss_ring_directory *directory)
{
    struct statvfs room;
    return statvfs(directory->path, &room) == 0 ? (uint64_t)room.f_bavail * room.f_frsize : 0;
}

struct ss_ring_request ss_ring_directory_request(const struct ss_ring_directory *directory,
                                                 uint64_t now_ns)
{
    return (struct ss_ring_request){.gate = SS_RING_GATE_ALL,
                                    .mode = directory->mode,
                                    .recorder_pid = (int32_t)getpid(),
                                    .room_bytes = ss_ring_directory_free_bytes(directory),
                                    .device_level = directory->device_level,
                                    .capture = directory->capture,
                                    .now_ns = now_ns};
}

/* Space for a page of a file, as it must not be missing later. Sandboxes and some file systems have
 * no fallocate(2). Returns an errno; 0: done. */
static int allocate_page(int fd)
{
    static const char zeros[SS_RING_PAGE_BYTES];
    int error = posix_fallocate(fd, 0, sizeof zeros);
    if (error != ENOSYS && error != EOPNOTSUPP) {
        return error;
    }
    errno = ENOSPC; /* of a short write */
    return pwrite(fd, zeros, sizeof zeros, 0) == sizeof zeros ? 0 : errno;
}

/* The page that programs of this recording read as they start. Returns an errno; 0: it exists. */
static int create_page(struct ss_ring_directory *directory, uint64_t now_ns)
{
    char path[PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/" SS_RING_RECORDER_FILE, directory->path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return errno;
    }
    int error = allocate_page(fd);
    void *page = error != 0
                     ? MAP_FAILED
                     : mmap(NULL, SS_RING_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        error = error != 0 ? error : errno;
        close(fd);
        return error;
    }
    close(fd);
    ss_page_guard_add(page, SS_RING_PAGE_BYTES);
    directory->page = page;
    struct ss_ring_request request = ss_ring_directory_request(directory, now_ns);
    atomic_store(&directory->page->mode, (uint32_t)request.mode);
    atomic_store(&directory->page->recorder_pid, request.recorder_pid);
    atomic_store(&directory->page->heartbeat_ns, request.now_ns);
    atomic_store(&directory->page->room_bytes, request.room_bytes);
    atomic_store(&directory->page->gate, SS_RING_GATE_RECORDING | request.gate);
    return 0;
}

/* Returns an errno; 0: it exists. */
static int create_in(struct ss_ring_directory *directory, const char *user_directory,
                     uint64_t now_ns)
{
    struct ss_procfs_stat stat = {0};
    ss_procfs_stat(getpid(), 0, &stat);
    int length = snprintf(directory->path, sizeof directory->path, "%s/r%d.%llu.0", user_directory,
                          (int)getpid(), (unsigned long long)stat.start_time_ticks);
    if (length < 0 || (size_t)length >= sizeof directory->path) {
        directory->path[0] = '\0';
        return ENAMETOOLONG;
    }
    int error = mkdir(directory->path, 0700) == 0 ? create_page(directory, now_ns) : errno;
    if (error != 0) {
        remove_directory(directory->path);
    }
    return error;
}

/* In the first root with enough free space, else in the first usable one. `skipped_roots`: why
 * earlier roots were skipped; sentences without full stop, separated by "; ". */
static bool create(struct ss_ring_directory *directory, uint64_t now_ns,
                   struct ss_strbuf *skipped_roots)
{
    struct ss_ring_roots roots;
    struct ss_ring_folder candidates[SS_RING_MAX_ROOTS];
    ss_ring_roots_read(&roots);
    for (int accepts_tight = 0; accepts_tight < 2; accepts_tight++) {
        for (size_t i = 0; i < roots.count; i++) {
            struct ss_ring_folder *candidate = &candidates[i];
            char why[SS_RING_PATH_BYTES + 64];
            if (accepts_tight == 0) {
                ss_ring_folder_try(roots.paths[i], candidate);
            }
            if (candidate->state ==
                (accepts_tight != 0 ? SS_RING_FOLDER_TIGHT : SS_RING_FOLDER_ROOMY)) {
                sweep(candidate->path);
                candidate->error = create_in(directory, candidate->path, now_ns);
                if (candidate->error == 0) {
                    return true;
                }
                candidate->state = SS_RING_FOLDER_REFUSED;
            }
            if (accepts_tight == 0) {
                ss_ring_folder_explain(candidate, why, sizeof why);
                ss_strbuf_append_format(skipped_roots, "%s%s",
                                        skipped_roots->length > 0 ? "; " : "", why);
            }
        }
    }
    return false;
}

bool ss_ring_directory_create(struct ss_ring_directory *directory, enum ss_ring_mode mode,
                              uint64_t now_ns, char *reason)
{
    struct ss_strbuf skipped_roots;
    *directory = (struct ss_ring_directory){.mode = mode};
    ss_strbuf_init(&skipped_roots, REASON_BYTES / 2);
    bool is_created = create(directory, now_ns, &skipped_roots);
    if (!is_created) {
        snprintf(reason, REASON_BYTES,
                 "no ring directory can be made: %s; make room there, or set TMPDIR to a folder of "
                 "your own",
                 skipped_roots.length > 0 ? skipped_roots.data
                                          : "no folder that only this user can "
                                            "access");
    } else if (skipped_roots.length > 0) {
        snprintf(directory->skipped_roots, sizeof directory->skipped_roots, "%s",
                 skipped_roots.data);
        ss_log(SS_WARN, "record", "the ring directory is %s: %s", directory->path,
               skipped_roots.data);
    }
    ss_strbuf_fini(&skipped_roots);
    return is_created;
}

void ss_ring_directory_remove(struct ss_ring_directory *directory)
{
    if (directory->page != NULL) {
        ss_page_guard_remove(directory->page);
        munmap(directory->page, SS_RING_PAGE_BYTES);
        directory->page = NULL;
        remove_directory(directory->path);
    }
}

void ss_ring_directory_probe(char path[SS_RING_DIRECTORY_REASON_BYTES],
                             char skipped_roots[SS_RING_DIRECTORY_REASON_BYTES])
{
    struct ss_ring_directory directory = {0};
    struct ss_strbuf why;
    ss_strbuf_init(&why, REASON_BYTES / 2);
    bool is_created = create(&directory, 0, &why);
    snprintf(path, REASON_BYTES, "%s", is_created ? directory.path : "");
    snprintf(skipped_roots, REASON_BYTES, "%s", why.length > 0 ? why.data : "");
    if (is_created) {
        char *slash = strrchr(path, '/');
        *slash = '\0'; /* the user's directory, in which each recording has its own */
        ss_ring_directory_remove(&directory);
    }
    ss_strbuf_fini(&why);
}

/* --- the directory of a running process ------------------------------------------------------ */

/* The directory of the ring file that the process has mapped; "": it maps none. Warns where the
 * file is gone: the process writes to it, and no recorder can open it any more. */
static void find_mapped(pid_t pid, char path[SS_RING_PATH_BYTES])
{
    struct ss_maps maps;
    path[0] = '\0';
    if (ss_maps_read(pid, &maps, NULL) != SS_OK) {
        return;
    }
    for (size_t i = 0; i < maps.count && path[0] == '\0'; i++) {
        const char *file = maps.maps[i].path, *name = strrchr(file, '/');
        pid_t owner;
        uint64_t start;
        if (name != NULL && name - file < SS_RING_PATH_BYTES &&
            ss_ring_file_parse_name(name + 1, &owner, &start)) {
            snprintf(path, SS_RING_PATH_BYTES, "%.*s", (int)(name - file), file);
            if (maps.maps[i].is_deleted) {
                ss_log(SS_WARN, "record",
                       "the ring file of process %d was deleted: only samples are recorded, no "
                       "annotations, steps or operators; start the program again",
                       (int)pid);
            }
        }
    }
    ss_maps_fini(&maps);
    char *slash = strrchr(path, '/');
    pid_t owner;
    uint64_t start;
    if (slash != NULL && slash[1] == 'r' && parse_owner(slash + 1, true, &owner, &start)) {
        *slash = '\0'; /* a recorder's own, which is swept when that recorder is dead */
    }
    if (!ss_ring_folder_is_safe(path)) {
        path[0] = '\0';
    }
}

bool ss_ring_directory_attach(struct ss_ring_directory *directory, enum ss_ring_mode mode,
                              pid_t pid, char *reason)
{
    char path[SS_RING_PATH_BYTES];
    *directory = (struct ss_ring_directory){.mode = mode};
    find_mapped(pid, path);
    if (path[0] == '\0' && !ss_ring_folder_user(path)) {
        snprintf(reason, REASON_BYTES,
                 "no ring directory can be made: no folder that only this user can access; make "
                 "room there, or set TMPDIR to a folder of your own");
        return false;
    }
    snprintf(directory->path, sizeof directory->path, "%s", path);
    sweep(path);
    return true;
}
