/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "annot/names.h"
#include "annot/process_inside.h"
#include "annot/stamp.h"
#include "ring/device_ring.h"

struct ss_ring_header *ss_process_header;
struct ss_process_state *ss_process_state;
struct ss_process_inherited ss_process_inherited;

/* What ss_process_wiped_memory has given. Emulators (qemu-user) accept the advice and wipe nothing.
 */
static struct {
    void *start;
    size_t bytes;
} wiped[256];
static atomic_uint wiped_count;

void ss_process_wipe_after_fork(void)
{
    if (ss_process_state == NULL || !ss_process_state->is_ours) {
        return; /* the kernel has */
    }
    for (size_t i = 0; i < sizeof wiped / sizeof *wiped && wiped[i].start != NULL; i++) {
        memset(wiped[i].start, 0, wiped[i].bytes);
    }
}

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
    unsigned index = atomic_fetch_add_explicit(&wiped_count, 1, memory_order_relaxed);
    if (index < sizeof wiped / sizeof *wiped) {
        wiped[index].bytes = bytes;
        wiped[index].start = memory;
    }
    return memory;
}

pid_t ss_process_pid(void)
{
    int32_t pid = ss_process_state != NULL
                      ? atomic_load_explicit(&ss_process_state->pid, memory_order_relaxed)
                      : 0;
    if (__builtin_expect(pid == 0, 0)) {
        pid = (int32_t)getpid();
        if (ss_process_state != NULL) {
            atomic_store_explicit(&ss_process_state->pid, pid, memory_order_relaxed);
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
    return (int32_t)syscall(SYS_gettid);
}

/* --- lock ------------------------------------------------------------------------------------ */

/* Waiters sleep: a spinning thread of higher real-time priority would keep the holder off the
 * processor. */
void ss_process_lock(void)
{
    unsigned held = 0;
    if (atomic_compare_exchange_strong_explicit(&ss_process_state->lock, &held, 1,
                                                memory_order_acquire, memory_order_relaxed)) {
        return;
    }
    while (atomic_exchange_explicit(&ss_process_state->lock, 2, memory_order_acquire) != 0) {
        syscall(SYS_futex, &ss_process_state->lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    }
}

void ss_process_unlock(void)
{
    if (atomic_exchange_explicit(&ss_process_state->lock, 0, memory_order_release) == 2) {
        syscall(SYS_futex, &ss_process_state->lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

bool ss_process_is_set_up(void)
{
    return ss_process_state != NULL;
}

static bool path_beside(const char *suffix, char path[SS_RING_PATH_BYTES + 16])
{
    size_t length =
        ss_process_state != NULL && ss_process_state->has_file ? strlen(ss_process_state->path) : 0;
    size_t own = sizeof SS_RING_FILE_SUFFIX - 1;
    if (length <= own || strlen(suffix) > own + 16) {
        return false;
    }
    memcpy(path, ss_process_state->path, length - own);
    memcpy(path + length - own, suffix, strlen(suffix) + 1);
    return true;
}

int ss_process_open_sealed(void)
{
    char path[SS_RING_PATH_BYTES + 16];
    return ss_process_sealed_path(path) && !ss_process_is_confined()
               ? ss_ring_folder_open(path, ss_process_inherited.uid)
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

int ss_process_make_device_file(uint64_t bytes)
{
    char path[SS_RING_PATH_BYTES + 16];
    if (!path_beside(SS_DEVICE_RING_SUFFIX, path) || ss_process_is_confined()) {
        errno = ENOENT;
        return -1;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && !ss_process_allocate(fd, 0, bytes)) {
        int saved = errno;
        unlink(path);
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

void ss_process_announce_device_file(void)
{
    char path[SS_RING_PATH_BYTES + 16];
    int fd = path_beside(SS_DEVICE_RING_SUFFIX, path)
                 ? ss_ring_folder_open(path, ss_process_inherited.uid)
                 : -1;
    if (fd >= 0) {
        close(fd);
    }
}

/* Removes the file if no recorder used it, or the notices of a recording that has ended. */
__attribute__((destructor)) static void at_exit(void)
{
    char sealed[SS_RING_PATH_BYTES + 16];
    if (ss_process_state == NULL || !ss_process_state->is_ours ||
        ss_process_inherited.pid != ss_process_pid() || !ss_process_sealed_path(sealed)) {
        return;
    }
    bool is_recorded = atomic_load(&ss_process_header->recorder_pid) != 0;
    bool is_over = (atomic_load(&ss_process_header->gate) & SS_RING_GATE_ALL) == 0;
    if ((is_recorded && !is_over) || ss_process_is_confined() ||
        ss_process_count_filters() != ss_process_inherited.filters) {
        return; /* a filter may forbid unlink: the next recorder cleans up */
    }
    if (!is_recorded) {
        unlink(ss_process_state->path);
    } else if (unlink(sealed) == 0 && ss_process_inherited.is_recorder_folder) {
        rmdir(ss_process_inherited.folder); /* succeeds when it is empty */
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
    ss_process_state = ss_process_wiped_memory(sizeof *ss_process_state);
    if (page != MAP_FAILED && ss_process_state != NULL && ss_names_init() &&
        getauxval(AT_SECURE) == 0) {
        ss_ring_roots_read(&ss_process_inherited.roots);
        ss_process_inherited.filters = ss_process_count_filters();
        ss_process_inherited.uid = geteuid();
        ss_process_choose_folder();
        ss_process_make_file();
        ss_process_state->is_ours = true;
    }
    errno = saved;
}

bool ss_process_ensure(void)
{
    if (!ss_process_state->is_ours) {
        ss_process_make_file();
        ss_process_state->is_ours = true;
    }
    return ss_process_state->has_file;
}

int ss_process_prepare(void)
{
    (void)ss_process_ensure();
    return ss_process_make_file_again();
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
    uint64_t number =
        atomic_fetch_add_explicit(&ss_process_state->ids, 1, memory_order_relaxed) + 1;
    return (ss_process_state->salt & UINT64_C(0xffffff0000000000)) |
           (number & UINT64_C(0xffffffffff));
}
