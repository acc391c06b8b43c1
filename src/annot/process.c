/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "annot/names.h"
#include "annot/stamp.h"
#include "base/env.h"
#include "ring/place.h"

enum { MAX_EXECS = 10000, MIN_FALLBACK_SLOTS_LOG2 = 10 };

struct ss_ring_header *ss_process_header;

/* Wiped on fork: zeros mean that the state is not of this process. */
static struct state {
    atomic_uint lock;    /* 0 free, 1 held, 2 held with waiters */
    _Atomic int32_t pid; /* cached; 0: unknown */
    bool is_ours;
    bool has_file;
    dev_t device;
    ino_t inode;
    uint64_t file_end;
    uint32_t definition_room, definition_bytes;
    _Atomic uint64_t ids;
    uint64_t salt;
    char path[SS_RING_PATH_BYTES];
    char *directory;          /* the file up to the segments */
    uint32_t wide_slots_log2; /* of new rings, if there is room; 0: the default */
    uint32_t ring_count;
    struct ss_ring_thread *rings[SS_RING_MAX_THREADS];
    uint8_t ring_slots_log2[SS_RING_MAX_THREADS];
} * state;

/* State that a forked child inherits. */
static struct {
    char folder[SS_RING_PATH_BYTES - 64]; /* of ring files; "": no safe folder */
    struct ss_ring_roots roots;           /* from the environment at startup */
    uint32_t filters;                     /* number of seccomp filters at startup */
    uid_t uid;                            /* owner of the files, at startup */
    pid_t pid;                            /* of the process that `generation` describes */
    uint32_t generation;
    bool is_recorder_folder;
    bool is_duplicate; /* another copy of this library records this process */
} inherited;

void *ss_process_wiped_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    if (madvise(memory, bytes, MADV_WIPEONFORK) != 0) { /* before Linux 4.14 */
        munmap(memory, bytes);
        return NULL;
    }
    return memory;
}

pid_t ss_process_pid(void)
{
    int32_t pid = state != NULL ? atomic_load_explicit(&state->pid, memory_order_relaxed) : 0;
    if (__builtin_expect(pid == 0, 0)) {
        pid = (int32_t)getpid();
        if (state != NULL) {
            atomic_store_explicit(&state->pid, pid, memory_order_relaxed);
        }
    }
    return pid;
}

/* Avoids gettid(2), which a seccomp filter may forbid: glibc stores the tid of the owner in a
 * recursive mutex. After fork the child has one thread, whose tid is the pid. */
int32_t ss_process_find_tid(int32_t tid_before)
{
#ifdef __GLIBC__
    pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    if (tid_before != 0) {
        return (int32_t)ss_process_pid();
    }
    pthread_mutex_lock(&mutex);
    int32_t tid = mutex.__data.__owner;
    pthread_mutex_unlock(&mutex);
    if (tid > 0) {
        return tid;
    }
#endif
    (void)tid_before;
    return (int32_t)gettid();
}

/* --- lock ------------------------------------------------------------------------------------ */

/* Waiters sleep: a spinning thread of higher real-time priority would keep the holder off the
 * processor. */
void ss_process_lock(void)
{
    unsigned held = 0;
    if (atomic_compare_exchange_strong_explicit(&state->lock, &held, 1, memory_order_acquire,
                                                memory_order_relaxed)) {
        return;
    }
    while (atomic_exchange_explicit(&state->lock, 2, memory_order_acquire) != 0) {
        syscall(SYS_futex, &state->lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    }
}

void ss_process_unlock(void)
{
    if (atomic_exchange_explicit(&state->lock, 0, memory_order_release) == 2) {
        syscall(SYS_futex, &state->lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

bool ss_process_is_set_up(void)
{
    return state != NULL;
}

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

/* Number of seccomp filters of this process; before Linux 5.9, 2 for one or more. */
static uint32_t count_filters(void)
{
    uint64_t mode = read_number("/proc/self/status", "\nSeccomp:", 0);
    return (uint32_t)read_number("/proc/self/status", "\nSeccomp_filters:", mode);
}

/* From /proc instead of getrlimit(2): see allocate. "unlimited" is not a number. */
static uint64_t max_file_bytes(void)
{
    return read_number("/proc/self/limits", "Max file size", UINT64_MAX);
}

/* Allocates file space by writing zeros, also over existing data.
 *
 * The program may set a seccomp filter that kills it at a system call that it does not make itself.
 * After startup this file therefore makes only open, read, write, lseek, fstat, mmap and close, not
 * fallocate(2), statfs(2), getrlimit(2), gettid(2) or geteuid(2). */
static bool allocate(int fd, uint64_t offset, uint64_t bytes)
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

/* The recorder reports a seccomp filter set after startup: then even these calls are avoided. */
static bool is_confined(void)
{
    return atomic_load_explicit(&ss_process_header->confined, memory_order_relaxed) != 0;
}

static int open_if_ours(const char *path)
{
    struct stat stat;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 &&
        (fstat(fd, &stat) != 0 || stat.st_dev != state->device || stat.st_ino != state->inode)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The user's folder, which contains the recorder's folder. */
static bool copy_user_folder(char folder[SS_RING_PATH_BYTES])
{
    const char *slash = strrchr(inherited.folder, '/');
    size_t length = slash != NULL ? (size_t)(slash - inherited.folder) : 0;
    memcpy(folder, inherited.folder, length);
    folder[length] = '\0';
    return length > 0;
}

/* Opens the ring file by name each time: a program may close descriptors that it did not open. When
 * a recorder was killed, the next recorder moves the file to the user's folder. */
static int reopen_file(void)
{
    char folder[SS_RING_PATH_BYTES], path[2 * SS_RING_PATH_BYTES];
    if (!state->has_file || is_confined()) {
        return -1;
    }
    int fd = open_if_ours(state->path);
    if (fd < 0 && inherited.is_recorder_folder && copy_user_folder(folder)) {
        snprintf(path, sizeof path, "%s%s", folder, strrchr(state->path, '/'));
        fd = open_if_ours(path);
        if (fd >= 0 && strlen(path) < sizeof state->path) {
            memcpy(state->path, path, strlen(path) + 1);
        }
    }
    return fd;
}

static int open_recorder_page(void)
{
    char path[SS_RING_PATH_BYTES];
    snprintf(path, sizeof path, "%s/" SS_RING_RECORDER_FILE, inherited.folder);
    return ss_ring_place_open(path, inherited.uid);
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
    header->generation = inherited.generation;
    header->start_time_ticks = start_time;
    header->created_ns = ss_stamp_monotonic_ns();
    header->step = header->epoch = -1;
    header->flush_wanted = atomic_load(&header->flush_done); /* a child has no pending flush */
}

/* True when the file is from before an exec of this process and no recorder used it. */
static bool is_unused_file(void)
{
    struct ss_ring_header header = {0};
    int fd = ss_ring_place_open(state->path, inherited.uid);
    bool unused = fd >= 0 && !inherited.is_recorder_folder &&
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
        snprintf(state->path, sizeof state->path, "%s/%d.%llu.%d" SS_RING_FILE_SUFFIX,
                 inherited.folder, (int)getpid(), (unsigned long long)start_time, i);
        int fd = open(state->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
        if (is_mapped_here(state->path)) {
            inherited.is_duplicate = true;
            return -1;
        }
        if (is_unused_file() && unlink(state->path) == 0) {
            i--;
        }
    }
    return -1;
}

/* Maps the new page over the current header: zeros, or the parent's header. */
static bool map_header(int fd, const struct ss_ring_header *filled)
{
    struct stat stat;
    if (!allocate(fd, 0, SS_RING_PAGE_BYTES) || fstat(fd, &stat) != 0) {
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
    state->device = stat.st_dev;
    state->inode = stat.st_ino;
    state->file_end = SS_RING_SEGMENTS_AT;
    state->has_file = true;
    /* Pairs with the acquire of ss_ring_consumer_open. */
    atomic_store_explicit(&ss_process_header->magic, SS_RING_MAGIC, memory_order_release);
    return true;
}

/* Counts this process for the recorder as not recorded. */
static void report_unrecorded(void)
{
    int fd = inherited.is_recorder_folder && !inherited.is_duplicate && !is_confined()
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

static void close_gate_permanently(void)
{
    report_unrecorded();
    (void)mmap(ss_process_header, SS_RING_PAGE_BYTES, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* The recorder waits for IN_CLOSE_WRITE, which the kernel does not send while the mapping keeps the
 * file open: opening and closing it again sends the event. */
static void notify_recorder(void)
{
    int fd = ss_ring_place_open(state->path, inherited.uid);
    if (fd >= 0) {
        close(fd);
    }
}

static void choose_user_folder(void)
{
    char folder[SS_RING_PATH_BYTES];
    bool is_there = inherited.is_recorder_folder && copy_user_folder(folder) &&
                    ss_ring_place_is_safe(folder); /* the next recorder scans it */
    inherited.is_recorder_folder = false;
    inherited.folder[0] = '\0';
    if ((is_there || ss_ring_place_choose(&inherited.roots, inherited.filters == 0, folder)) &&
        strlen(folder) < sizeof inherited.folder) {
        memcpy(inherited.folder, folder, strlen(folder) + 1);
    }
}

static void make_file(void)
{
    struct ss_ring_header filled = {0};
    int32_t parent_pid = 0;
    if (is_confined()) { /* a child of a confined process is confined too */
        close_gate_permanently();
        return;
    }
    uint64_t start_time = read_start_time(&parent_pid);
    if (inherited.pid != ss_process_pid()) {
        inherited.generation += inherited.pid != 0;
        inherited.pid = ss_process_pid();
    }
    state->salt = ss_stamp_monotonic_ns() * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)inherited.pid
                                                                               << 40;
    bool is_recording = inherited.is_recorder_folder && read_recorder_request(&filled);
    if (inherited.is_recorder_folder && !is_recording) {
        choose_user_folder(); /* that recording is over */
    }
    if (inherited.generation > 0) { /* a child continues the parent's recording */
        memcpy((char *)&filled + SS_RING_LINE_BYTES, (char *)ss_process_header + SS_RING_LINE_BYTES,
               SS_RING_LINE_BYTES);
    }
    fill_header(&filled, start_time, parent_pid);
    int fd = inherited.folder[0] != '\0' && start_time != 0 ? create_file(start_time) : -1;
    if (fd >= 0 && !map_header(fd, &filled)) {
        unlink(state->path);
        close(fd);
        fd = -1;
    }
    if (fd < 0) {
        close_gate_permanently();
        return;
    }
    close(fd);
    notify_recorder();
}

static void choose_folder(void)
{
    const char *given = ss_env_get(SS_ENV_STEPSCOPE_RINGS);
    if (given != NULL && strlen(given) < sizeof inherited.folder && ss_ring_place_is_safe(given)) {
        snprintf(inherited.folder, sizeof inherited.folder, "%s", given);
        inherited.is_recorder_folder = true;
    } else {
        choose_user_folder();
    }
}

static bool path_beside(const char *suffix, char path[SS_RING_PATH_BYTES + 16])
{
    size_t length = state != NULL && state->has_file ? strlen(state->path) : 0;
    size_t own = sizeof SS_RING_FILE_SUFFIX - 1;
    if (length <= own || strlen(suffix) > own + 16) {
        return false;
    }
    memcpy(path, state->path, length - own);
    memcpy(path + length - own, suffix, strlen(suffix) + 1);
    return true;
}

int ss_process_open_sealed(void)
{
    char path[SS_RING_PATH_BYTES + 16];
    return ss_process_sealed_path(path) && !is_confined() ? ss_ring_place_open(path, inherited.uid)
                                                          : -1;
}

bool ss_process_sealed_path(char path[SS_RING_PATH_BYTES + 16])
{
    return path_beside(SS_RING_SEALED_SUFFIX, path);
}

bool ss_process_torch_path(unsigned number, char path[SS_RING_PATH_BYTES + 16])
{
    char suffix[32];
    snprintf(suffix, sizeof suffix, ".%u" SS_RING_TORCH_SUFFIX, number);
    return path_beside(suffix, path);
}

/* Removes the file if no recorder used it, or the notices of a recording that has ended. */
__attribute__((destructor)) static void at_exit(void)
{
    char sealed[SS_RING_PATH_BYTES + 16];
    if (state == NULL || !state->is_ours || inherited.pid != ss_process_pid() ||
        !ss_process_sealed_path(sealed)) {
        return;
    }
    bool is_recorded = atomic_load(&ss_process_header->recorder_pid) != 0;
    bool is_over = (atomic_load(&ss_process_header->gate) & SS_RING_GATE_ALL) == 0;
    if ((is_recorded && !is_over) || is_confined() || count_filters() != inherited.filters) {
        return; /* a filter may forbid unlink: the next recorder cleans up */
    }
    if (!is_recorded) {
        unlink(state->path);
    } else if (unlink(sealed) == 0 && inherited.is_recorder_folder) {
        rmdir(inherited.folder); /* succeeds when it is empty */
    }
}

static struct ss_ring_header idle_header;

void ss_process_init_idle(void)
{
    ss_process_header = &idle_header;
}

void ss_process_init(void)
{
    int saved = errno;
    ss_stamp_choose_clock();
    void *page =
        mmap(NULL, SS_RING_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ss_process_header = page != MAP_FAILED ? page : &idle_header;
    state = ss_process_wiped_memory(sizeof *state);
    if (page != MAP_FAILED && state != NULL && ss_names_init() && getauxval(AT_SECURE) == 0) {
        ss_ring_roots_read(&inherited.roots);
        inherited.filters = count_filters();
        inherited.uid = geteuid();
        choose_folder();
        make_file();
        state->is_ours = true;
    }
    errno = saved;
}

bool ss_process_ensure(void)
{
    if (!state->is_ours) {
        make_file();
        state->is_ours = true;
    }
    return state->has_file;
}

/* --- content of the file --------------------------------------------------------------------- */

/* Maps directory and definitions, for the first ring. */
static bool map_directory(int fd)
{
    if (state->directory != NULL) {
        return true;
    }
    if (!allocate(fd, SS_RING_DIRECTORY_AT, SS_RING_DEFINITIONS_AT - SS_RING_DIRECTORY_AT)) {
        return false;
    }
    void *memory =
        mmap(NULL, SS_RING_SEGMENTS_AT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    state->directory = memory;
    return true;
}

void ss_process_share_definitions(void)
{
    uint32_t end = ss_names_log_bytes();
    if (state->directory == NULL || end == state->definition_bytes) {
        return;
    }
    if (end > state->definition_room) {
        uint32_t room = (end + SS_RING_DEFINITIONS_CHUNK_BYTES - 1) /
                        SS_RING_DEFINITIONS_CHUNK_BYTES * SS_RING_DEFINITIONS_CHUNK_BYTES;
        int fd = reopen_file();
        bool has_room = fd >= 0 && allocate(fd, SS_RING_DEFINITIONS_AT + state->definition_room,
                                            room - state->definition_room);
        if (fd >= 0) {
            close(fd);
        }
        if (!has_room) {
            atomic_fetch_add_explicit(&ss_process_header->lost_names, 1, memory_order_relaxed);
            return;
        }
        state->definition_room = room;
    }
    memcpy(state->directory + SS_RING_DEFINITIONS_AT + state->definition_bytes,
           ss_names_log() + state->definition_bytes, end - state->definition_bytes);
    state->definition_bytes = end;
    /* Pairs with the acquire of ss_ring_consumer_define. */
    atomic_store_explicit(&ss_process_header->definition_bytes, end, memory_order_release);
}

static struct ss_ring_thread *reuse_ring(uint32_t *slots_log2)
{
    for (uint32_t i = 0; i < state->ring_count; i++) {
        uint32_t wanted = SS_RING_FREE;
        /* Pairs with the release in ss_ring_consumer_release: the ring is drained. */
        if (atomic_compare_exchange_strong_explicit(&state->rings[i]->state, &wanted, SS_RING_OPEN,
                                                    memory_order_acquire, memory_order_relaxed)) {
            *slots_log2 = state->ring_slots_log2[i];
            return state->rings[i];
        }
    }
    return NULL;
}

static struct ss_ring_thread *add_segment(int fd, uint32_t slots_log2)
{
    size_t bytes = SS_RING_PAGE_BYTES + (sizeof(struct ss_ring_slot) << slots_log2);
    if (!allocate(fd, state->file_end, bytes)) {
        return NULL;
    }
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)state->file_end);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    uint32_t number = state->ring_count++;
    state->rings[number] = memory;
    state->ring_slots_log2[number] = (uint8_t)slots_log2;
    ss_ring_directory_entry *directory = (void *)(state->directory + SS_RING_DIRECTORY_AT);
    atomic_store_explicit(&directory[number], state->file_end | slots_log2, memory_order_relaxed);
    state->file_end += bytes;
    return memory;
}

/* Other processes and data share the file system: a wide ring may use 1/256 of its free space. */
static bool has_room(uint32_t slots_log2)
{
    enum { MIN_RINGS = 256 };
    uint64_t bytes = (uint64_t)sizeof(struct ss_ring_slot) << slots_log2;
    return atomic_load_explicit(&ss_process_header->room_bytes, memory_order_relaxed) >=
           MIN_RINGS * bytes;
}

static uint32_t wanted_slots_log2(void)
{
    uint32_t wanted = atomic_load_explicit(&ss_process_header->slots_log2, memory_order_relaxed);
    if (wanted >= SS_RING_MIN_SLOTS_LOG2 && wanted <= SS_RING_MAX_SLOTS_LOG2) {
        return wanted;
    }
    bool is_wide = state->wide_slots_log2 != 0 && has_room(state->wide_slots_log2);
    return is_wide ? state->wide_slots_log2 : SS_RING_DEFAULT_SLOTS_LOG2;
}

void ss_process_widen_rings(uint32_t slots_log2)
{
    if (state != NULL) {
        ss_process_lock();
        state->wide_slots_log2 = slots_log2;
        ss_process_unlock();
    }
}

uint64_t ss_process_dropped(void)
{
    uint64_t dropped = 0;
    for (uint32_t i = 0; state != NULL && i < state->ring_count; i++) {
        dropped += atomic_load_explicit(&state->rings[i]->dropped, memory_order_relaxed);
    }
    return dropped;
}

static struct ss_ring_thread *make_ring(uint32_t *slots_log2)
{
    uint32_t wanted = wanted_slots_log2();
    int fd = state->ring_count < SS_RING_MAX_THREADS ? reopen_file() : -1;
    struct ss_ring_thread *ring = NULL;
    if (fd >= 0 && map_directory(fd)) {
        ss_process_share_definitions();
        /* When space is scarce, a smaller ring is better than none. */
        uint32_t least = wanted < MIN_FALLBACK_SLOTS_LOG2 ? wanted : MIN_FALLBACK_SLOTS_LOG2;
        for (; ring == NULL && wanted >= least; wanted--) {
            ring = add_segment(fd, wanted);
            *slots_log2 = wanted;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return ring;
}

struct ss_ring_thread *ss_process_acquire_ring(int32_t tid, uint32_t *slots_log2,
                                               bool *is_overwriting)
{
    bool is_new = false;
    struct ss_ring_thread *ring = reuse_ring(slots_log2);
    if (ring == NULL) {
        ring = make_ring(slots_log2);
        is_new = true;
    }
    if (ring == NULL) {
        return NULL;
    }
    atomic_store_explicit(&ring->phase, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->tid, tid, memory_order_relaxed);
    atomic_fetch_add_explicit(&ring->owner, 1, memory_order_relaxed);
    atomic_store_explicit(&ring->state, SS_RING_OPEN, memory_order_release);
    if (is_new) {
        /* Pairs with the acquire of ss_ring_consumer_refresh. */
        atomic_store_explicit(&ss_process_header->thread_count, state->ring_count,
                              memory_order_release);
    }
    *is_overwriting =
        atomic_load_explicit(&ss_process_header->mode, memory_order_relaxed) == SS_RING_OVERWRITE;
    return ring;
}

void ss_process_release_ring(struct ss_ring_thread *thread)
{
    atomic_store_explicit(&thread->state, SS_RING_CLOSED, memory_order_release);
}

/* --- the recorder ---------------------------------------------------------------------------- */

void ss_process_check_heartbeat(void)
{
    struct ss_ring_header *header = ss_process_header;
    uint64_t heartbeat_ns = atomic_load_explicit(&header->heartbeat_ns, memory_order_relaxed);
    uint64_t timeout_ms = atomic_load_explicit(&header->heartbeat_timeout_ms, memory_order_relaxed);
    timeout_ms = timeout_ms != 0 ? timeout_ms : SS_RING_DEFAULT_HEARTBEAT_TIMEOUT_MS;
    uint64_t now_ns = ss_stamp_monotonic_ns();
    if (now_ns < heartbeat_ns + timeout_ms * 1000000) {
        return;
    }
    uint32_t gate = atomic_load_explicit(&header->gate, memory_order_relaxed);
    if ((gate & SS_RING_GATE_ALL) != 0 &&
        atomic_compare_exchange_strong(&header->gate, &gate, gate & ~(uint32_t)SS_RING_GATE_ALL)) {
        atomic_fetch_add_explicit(&header->orphaned, 1, memory_order_relaxed);
    }
}

void ss_process_count_dropped(void)
{
    atomic_fetch_add_explicit(&ss_process_header->dropped, 1, memory_order_relaxed);
}

uint64_t ss_process_new_id(void)
{
    uint64_t number = atomic_fetch_add_explicit(&state->ids, 1, memory_order_relaxed) + 1;
    return (state->salt & UINT64_C(0xffffff0000000000)) | (number & UINT64_C(0xffffffffff));
}
