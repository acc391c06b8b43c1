/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "annot/process_inside.h"
#include "annot/stamp.h"
#include "base/env.h"
#include "ring/page_guard.h"

enum { MAX_EXECS = 10000 };

/* --- identity -------------------------------------------------------------------------------- */

static uint64_t read_start_time(int32_t *parent_pid)
{
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
    const char *at = strrchr(text, ')'); /* the command name before it may contain any byte */
    uint64_t start = 0;
    for (int field = 2; at != NULL && field < 22; field++) {
        at = strchr(at + 1, ' ');
        if (at != NULL && field == 3) {
            *parent_pid = (int32_t)strtol(at + 1, NULL, 10);
        } else if (at != NULL && field == 21) {
            start = strtoull(at + 1, NULL, 10);
        }
    }
    return start;
}

/* --- the file -------------------------------------------------------------------------------- */

/* The number after `name` in a file of /proc; `fallback` when there is none. */
static uint64_t read_number(const char *path, const char *name, uint64_t fallback)
{
    char text[4096];
    size_t used = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 1; fd >= 0 && got > 0 && used + 1 < sizeof text; used += (size_t)got) {
        got = read(fd, text + used, sizeof text - 1 - used);
        got = got > 0 ? got : 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    text[used] = '\0';
    const char *found = strstr(text, name);
    char *end = NULL;
    uint64_t number = found != NULL ? strtoull(found + strlen(name), &end, 10) : 0;
    return found != NULL && end != found + strlen(name) ? number : fallback;
}

uint32_t ss_process_count_filters(void)
{
    uint64_t mode = read_number("/proc/self/status", "\nSeccomp:", 0);
    return (uint32_t)read_number("/proc/self/status", "\nSeccomp_filters:", mode);
}

/* From /proc instead of getrlimit(2): see allocate. "unlimited" is not a number. */
static uint64_t max_file_bytes(void)
{
    return read_number("/proc/self/limits", "Max file size", UINT64_MAX);
}

/* The program may set a seccomp filter that kills it at a system call that it does not make itself.
 * After startup process*.c therefore make only open, read, write, lseek, fstat, mmap and close, not
 * fallocate(2), statfs(2), getrlimit(2), gettid(2) or geteuid(2). */
bool ss_process_allocate(int fd, uint64_t offset, uint64_t bytes)
{
    static char zeros[1 << 16]; /* never written */
    /* Beyond the limit the kernel does not only fail the write: it sends SIGXFSZ, which kills. */
    if (offset + bytes > max_file_bytes() || lseek(fd, (off_t)offset, SEEK_SET) < 0) {
        return false;
    }
    while (bytes > 0) {
        ssize_t written = write(fd, zeros, bytes < sizeof zeros ? (size_t)bytes : sizeof zeros);
        if (written <= 0 && !(written < 0 && errno == EINTR)) {
            return false;
        }
        bytes -= written > 0 ? (uint64_t)written : 0;
    }
    return true;
}

bool ss_process_is_confined(void)
{
    return atomic_load_explicit(&ss_process_header->confined, memory_order_relaxed) != 0;
}

static int open_if_ours(const char *path)
{
    struct stat stat;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &stat) != 0 || stat.st_dev != ss_process_state->device ||
                    stat.st_ino != ss_process_state->inode)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The user's folder, which contains the recorder's folder. */
static bool copy_user_folder(char folder[SS_RING_PATH_BYTES])
{
    const char *slash = strrchr(ss_process_inherited.folder, '/');
    size_t length = slash != NULL ? (size_t)(slash - ss_process_inherited.folder) : 0;
    memcpy(folder, ss_process_inherited.folder, length);
    folder[length] = '\0';
    return length > 0;
}

int ss_process_reopen_file(void)
{
    char folder[SS_RING_PATH_BYTES], path[2 * SS_RING_PATH_BYTES];
    if (!ss_process_state->has_file || ss_process_is_confined()) {
        return -1;
    }
    int fd = open_if_ours(ss_process_state->path);
    if (fd < 0 && ss_process_inherited.is_recorder_folder && copy_user_folder(folder)) {
        snprintf(path, sizeof path, "%s%s", folder, strrchr(ss_process_state->path, '/'));
        fd = open_if_ours(path);
        if (fd >= 0 && strlen(path) < sizeof ss_process_state->path) {
            memcpy(ss_process_state->path, path, strlen(path) + 1);
        }
    }
    return fd;
}

static int open_recorder_page(void)
{
    char path[SS_RING_PATH_BYTES];
    snprintf(path, sizeof path, "%s/" SS_RING_RECORDER_FILE, ss_process_inherited.folder);
    return ss_ring_folder_open(path, ss_process_inherited.uid);
}

/* Reads the recorder's request from its page. */
static bool read_recorder_request(struct ss_ring_header *header)
{
    int fd = open_recorder_page();
    static const size_t line = SS_RING_LINE_BYTES;
    bool is_there = fd >= 0 && lseek(fd, (off_t)line, SEEK_SET) >= 0 &&
                    read(fd, (char *)header + line, line) == (ssize_t)line;
    if (fd >= 0) {
        close(fd);
    }
    return is_there;
}

static void fill_header(struct ss_ring_header *header, uint64_t start_time, int32_t parent_pid)
{
    header->version = SS_RING_VERSION;
    header->byte_order = SS_RING_BYTE_ORDER;
    header->clock = ss_stamp_clock;
    header->pid = (int32_t)getpid();
    header->parent_pid = parent_pid;
    header->generation = ss_process_inherited.generation;
    header->start_time_ticks = start_time;
    header->created_ns = ss_stamp_monotonic_ns();
    header->step = header->epoch = -1;
    header->flush_wanted = atomic_load(&header->flush_done); /* a child has no pending flush */
}

/* True when the file is from before an exec of this process and no recorder used it. */
static bool is_unused_file(void)
{
    struct ss_ring_header header = {0};
    int fd = ss_ring_folder_open(ss_process_state->path, ss_process_inherited.uid);
    bool unused = fd >= 0 && !ss_process_inherited.is_recorder_folder &&
                  pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                  atomic_load(&header.recorder_pid) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return unused;
}

/* True when another copy of this library, in a dlmopen namespace, already records this process: the
 * recorder reads one file per process. */
static bool is_mapped_here(const char *path)
{
    char text[4096];
    const char *name = strrchr(path, '/');
    size_t length = strlen(name), carried_bytes = 0;
    bool found = false;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    ssize_t got;
    while (fd >= 0 && !found &&
           (got = read(fd, text + carried_bytes, sizeof text - carried_bytes)) > 0) {
        size_t bytes = carried_bytes + (size_t)got;
        found = memmem(text, bytes, name, length) != NULL;
        carried_bytes = bytes < length ? bytes : length;
        memmove(text, text + bytes - carried_bytes, carried_bytes);
    }
    if (fd >= 0) {
        close(fd);
    }
    return found;
}

static int create_file(uint64_t start_time)
{
    for (int i = 0; i < MAX_EXECS; i++) {
        snprintf(ss_process_state->path, sizeof ss_process_state->path,
                 "%s/%d.%llu.%d" SS_RING_FILE_SUFFIX, ss_process_inherited.folder, (int)getpid(),
                 (unsigned long long)start_time, i);
        int fd =
            open(ss_process_state->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
        if (is_mapped_here(ss_process_state->path)) {
            ss_process_inherited.is_duplicate = true;
            return -1;
        }
        if (is_unused_file() && unlink(ss_process_state->path) == 0) {
            i--;
        }
    }
    return -1;
}

/* Maps the new page over the current header: zeros, or the parent's header. */
static bool map_header(int fd, const struct ss_ring_header *filled)
{
    struct stat stat;
    if (!ss_process_allocate(fd, 0, SS_RING_PAGE_BYTES) || fstat(fd, &stat) != 0) {
        return false;
    }
    /* Write, then map: threads that test the gate see the old page or the complete new one. */
    if (lseek(fd, 0, SEEK_SET) != 0 ||
        write(fd, filled, sizeof *filled) != (ssize_t)sizeof *filled) {
        return false;
    }
    if (mmap(ss_process_header, SS_RING_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             fd, 0) == MAP_FAILED) {
        return false;
    }
    ss_page_guard_remove(ss_process_header); /* a child's is at its parent's address */
    ss_page_guard_add(ss_process_header, SS_RING_PAGE_BYTES);
    ss_process_state->device = stat.st_dev;
    ss_process_state->inode = stat.st_ino;
    ss_process_state->file_end = SS_RING_SEGMENTS_AT;
    ss_process_state->has_file = true;
    /* Pairs with the acquire of ss_ring_consumer_open. */
    atomic_store_explicit(&ss_process_header->magic, SS_RING_MAGIC, memory_order_release);
    return true;
}

/* Counts this process for the recorder as not recorded. */
static void report_unrecorded(void)
{
    int fd = ss_process_inherited.is_recorder_folder && !ss_process_inherited.is_duplicate &&
                     !ss_process_is_confined()
                 ? open_recorder_page()
                 : -1;
    struct stat stat;
    if (fd < 0) {
        return;
    }
    void *page = MAP_FAILED;
    if (fstat(fd, &stat) == 0 && stat.st_size >= SS_RING_PAGE_BYTES) {
        page = mmap(NULL, SS_RING_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (page != MAP_FAILED) {
        atomic_fetch_add(&((struct ss_ring_header *)page)->unbuffered_processes, 1);
        munmap(page, SS_RING_PAGE_BYTES);
    }
    close(fd);
}

static void close_gate(void)
{
    report_unrecorded();
    (void)mmap(ss_process_header, SS_RING_PAGE_BYTES, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* The recorder waits for IN_CLOSE_WRITE, which the kernel does not send while the mapping keeps the
 * file open: opening and closing it again sends the event. */
static void notify_recorder(void)
{
    int fd = ss_ring_folder_open(ss_process_state->path, ss_process_inherited.uid);
    if (fd >= 0) {
        close(fd);
    }
}

static void choose_user_folder(void)
{
    char folder[SS_RING_PATH_BYTES];
    bool is_there = ss_process_inherited.is_recorder_folder && copy_user_folder(folder) &&
                    ss_ring_folder_is_safe(folder); /* the next recorder scans it */
    ss_process_inherited.is_recorder_folder = false;
    ss_process_inherited.folder[0] = '\0';
    if ((is_there || ss_ring_folder_choose(&ss_process_inherited.roots,
                                           ss_process_inherited.filters == 0, folder)) &&
        strlen(folder) < sizeof ss_process_inherited.folder) {
        memcpy(ss_process_inherited.folder, folder, strlen(folder) + 1);
    }
}

static bool publish_file(uint64_t start_time, const struct ss_ring_header *filled)
{
    int fd =
        ss_process_inherited.folder[0] != '\0' && start_time != 0 ? create_file(start_time) : -1;
    if (fd < 0) {
        return false;
    }
    bool is_mapped = map_header(fd, filled);
    if (!is_mapped) {
        unlink(ss_process_state->path);
    }
    close(fd);
    if (is_mapped) {
        notify_recorder();
    }
    return is_mapped;
}

void ss_process_make_file(void)
{
    struct ss_ring_header filled = {0};
    int32_t parent_pid = 0;
    if (ss_process_is_confined()) { /* a child of a confined process is confined too */
        close_gate();
        return;
    }
    uint64_t start_time = read_start_time(&parent_pid);
    if (ss_process_inherited.pid != ss_process_pid()) {
        ss_process_inherited.generation += ss_process_inherited.pid != 0;
        ss_process_inherited.pid = ss_process_pid();
    }
    ss_process_state->salt = ss_stamp_monotonic_ns() * UINT64_C(0x9e3779b97f4a7c15) ^
                             (uint64_t)ss_process_inherited.pid << 40;
    bool is_recording = ss_process_inherited.is_recorder_folder && read_recorder_request(&filled);
    if (ss_process_inherited.is_recorder_folder && !is_recording) {
        choose_user_folder(); /* that recording is over */
    }
    if (ss_process_inherited.generation > 0) { /* a child continues the parent's recording */
        memcpy((char *)&filled + SS_RING_LINE_BYTES, (char *)ss_process_header + SS_RING_LINE_BYTES,
               SS_RING_LINE_BYTES);
    }
    fill_header(&filled, start_time, parent_pid);
    if (!publish_file(start_time, &filled)) {
        close_gate();
    }
}

int ss_process_make_file_again(void)
{
    struct ss_ring_header filled = {0};
    int32_t parent_pid = 0;
    int fd = ss_process_reopen_file();
    if (fd >= 0) {
        close(fd);
        return 1;
    }
    if (ss_process_is_confined() || ss_process_inherited.is_duplicate ||
        ss_process_count_filters() != ss_process_inherited.filters ||
        ss_process_inherited.folder[0] == '\0') {
        return 0;
    }
    if (ss_process_state->directory != NULL || ss_process_inherited.is_recorder_folder) {
        return ss_process_state->has_file ? -1 : 0;
    }
    choose_user_folder(); /* the folder may be gone too */
    uint64_t start_time = read_start_time(&parent_pid);
    ss_process_state->has_file = false;
    /* Facts, steps and the schedule of the program so far. */
    memcpy((char *)&filled, (char *)ss_process_header, sizeof filled);
    int64_t step = atomic_load(&filled.step), epoch = atomic_load(&filled.epoch);
    fill_header(&filled, start_time, parent_pid);
    atomic_store(&filled.magic, 0); /* map_header publishes it */
    atomic_store(&filled.step, step);
    atomic_store(&filled.epoch, epoch);
    return ss_process_inherited.folder[0] != '\0' && publish_file(start_time, &filled) ? 1 : 0;
}

void ss_process_choose_folder(void)
{
    const char *given = ss_env_get(SS_ENV_STEPSCOPE_RINGS);
    if (given != NULL && strlen(given) < sizeof ss_process_inherited.folder &&
        ss_ring_folder_is_safe(given)) {
        snprintf(ss_process_inherited.folder, sizeof ss_process_inherited.folder, "%s", given);
        ss_process_inherited.is_recorder_folder = true;
    } else {
        choose_user_folder();
    }
}
