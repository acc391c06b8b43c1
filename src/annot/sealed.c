/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/sealed.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "annot/process.h"
#include "annot/stamp.h"
#include "ring/folder.h"
#include "ring/sealed.h"

/* Poll interval: short at first, for notices that arrive soon. */
static const uint64_t first_sleep_ns = UINT64_C(1000000);
static const uint64_t longest_sleep_ns = UINT64_C(100000000);

enum outcome { IS_OVER = -1, IS_PENDING = 0, IS_FOUND = 1 };

/* Read position in the notices of this process. */
struct notices {
    uint64_t offset; /* of the next line */
    uint64_t number; /* of the next line */
    bool ended;
};

/* --- waiting --------------------------------------------------------------------------------- */

struct poll_timer {
    uint64_t end_ns, sleep_ns;
};

static struct poll_timer start_timer(uint32_t timeout_ms)
{
    return (struct poll_timer){ss_stamp_monotonic_ns() + timeout_ms * UINT64_C(1000000),
                               first_sleep_ns};
}

/* Sleeps one interval. false: the timeout has expired. */
static bool sleep_interval(struct poll_timer *timer)
{
    uint64_t now_ns = ss_stamp_monotonic_ns();
    if (now_ns >= timer->end_ns) {
        return false;
    }
    uint64_t left_ns = timer->end_ns - now_ns;
    uint64_t sleep_ns = timer->sleep_ns < left_ns ? timer->sleep_ns : left_ns;
    struct timespec interval = {0, (long)sleep_ns};
    nanosleep(&interval, NULL); /* a signal only makes the next poll earlier */
    timer->sleep_ns =
        timer->sleep_ns * 2 < longest_sleep_ns ? timer->sleep_ns * 2 : longest_sleep_ns;
    return true;
}

/* True while the recorder may still write notices: after it closes the gate it may write more until
 * "end"; the heartbeat of a killed recorder stops. */
static bool is_recorder_alive(void)
{
    const struct ss_ring_header *header = ss_process_header;
    if (atomic_load_explicit(&header->recorder_pid, memory_order_relaxed) == 0) {
        return false;
    }
    ss_process_check_heartbeat();
    uint64_t heartbeat_ns = atomic_load_explicit(&header->heartbeat_ns, memory_order_relaxed);
    uint64_t timeout_ms = atomic_load_explicit(&header->heartbeat_timeout_ms, memory_order_relaxed);
    timeout_ms = timeout_ms != 0 ? timeout_ms : SS_RING_DEFAULT_HEARTBEAT_TIMEOUT_MS;
    return ss_stamp_monotonic_ns() < heartbeat_ns + timeout_ms * 1000000;
}

/* --- notices --------------------------------------------------------------------------------- */

static void copy_notice(const struct ss_ring_sealed *sealed, struct stepscope_sealed *out)
{
    struct stepscope_sealed all = {.window = sealed->window,
                                   .first_step = sealed->first_step,
                                   .last_step = sealed->last_step,
                                   .flags = sealed->flags};
    size_t size = out->size < sizeof all ? out->size : sizeof all;
    memcpy(all.path, sealed->path, sealed->path_length);
    all.size = out->size;
    memcpy(out, &all, size);
}

/* Reads the line at `notices->offset`. */
static bool next_line(int fd, struct notices *notices, char *line, size_t *length)
{
    ssize_t got = pread(fd, line, SS_RING_SEALED_LINE_BYTES, (off_t)notices->offset);
    const char *newline = got > 0 ? memchr(line, '\n', (size_t)got) : NULL;
    if (newline == NULL) {
        return false;
    }
    *length = (size_t)(newline - line);
    notices->offset += *length + 1;
    return true;
}

static enum outcome poll_notices(struct notices *notices, uint64_t number,
                                 struct stepscope_sealed *out)
{
    char line[SS_RING_SEALED_LINE_BYTES];
    size_t length;
    int fd = ss_process_open_sealed();
    enum outcome outcome = IS_PENDING;
    while (fd >= 0 && outcome == IS_PENDING && next_line(fd, notices, line, &length)) {
        struct ss_ring_sealed sealed;
        if (ss_ring_sealed_is_end(line, length)) {
            outcome = IS_OVER;
        } else if (ss_ring_sealed_get(line, length, &sealed) && notices->number++ == number) {
            copy_notice(&sealed, out);
            outcome = IS_FOUND;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return outcome;
}

int ss_sealed_wait(uint64_t number, uint32_t timeout_ms, struct stepscope_sealed *out)
{
    int saved = errno;
    struct poll_timer timer = start_timer(timeout_ms);
    struct notices notices = {0};
    enum outcome outcome = IS_OVER;
    bool has_file = ss_process_ensure();
    while (has_file) {
        bool alive = is_recorder_alive(); /* before the poll, so that no notice is missed */
        outcome = poll_notices(&notices, number, out);
        if (outcome == IS_PENDING && !alive) {
            outcome = IS_OVER;
        }
        if (outcome != IS_PENDING || !sleep_interval(&timer)) {
            break;
        }
    }
    errno = saved;
    return (int)outcome;
}

/* --- flush ----------------------------------------------------------------------------------- */

int ss_flush_wait(uint32_t timeout_ms)
{
    int saved = errno;
    struct poll_timer timer = start_timer(timeout_ms);
    enum outcome outcome = IS_OVER;
    if (ss_process_ensure()) {
        struct ss_ring_header *header = ss_process_header;
        uint32_t wanted = atomic_fetch_add(&header->flush_wanted, 1) + 1;
        do {
            uint32_t gate = atomic_load(&header->gate);
            bool alive = (gate & SS_RING_GATE_ALL) != 0 && is_recorder_alive();
            /* Pairs with the release in ss_annot_flushed: the recorder has written all data. */
            uint32_t done = atomic_load_explicit(&header->flush_done, memory_order_acquire);
            outcome = (int32_t)(done - wanted) >= 0 ? IS_FOUND : alive ? IS_PENDING : IS_OVER;
        } while (outcome == IS_PENDING && sleep_interval(&timer));
    }
    errno = saved;
    return (int)outcome;
}
