/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/sealed.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "annot/process.h"
#include "annot/stamp.h"
#include "ring/place.h"
#include "ring/sealed.h"

/* Between two looks: short at first, for what is nearly ready. */
static const uint64_t first_sleep_ns = UINT64_C(1000000);
static const uint64_t longest_sleep_ns = UINT64_C(100000000);

enum outcome { IS_OVER = -1, NOT_YET = 0, IS_THERE = 1 };

/* The notices of this process, and how far they were read. */
struct notices {
    uint64_t offset; /* of the next line */
    uint64_t number; /* of the next line */
    bool ended;
};

/* --- waiting --------------------------------------------------------------------------------- */

struct patience {
    uint64_t end_ns, sleep_ns;
};

static struct patience patience_of(uint32_t timeout_ms)
{
    return (struct patience){ss_stamp_monotonic_ns() + timeout_ms * UINT64_C(1000000),
                             first_sleep_ns};
}

/* false: the time is over. */
static bool wait_a_bit(struct patience *patience)
{
    uint64_t now_ns = ss_stamp_monotonic_ns();
    if (now_ns >= patience->end_ns) {
        return false;
    }
    uint64_t left_ns = patience->end_ns - now_ns;
    uint64_t sleep_ns = patience->sleep_ns < left_ns ? patience->sleep_ns : left_ns;
    struct timespec nap = {0, (long)sleep_ns};
    nanosleep(&nap, NULL); /* a signal: looks sooner */
    patience->sleep_ns =
        patience->sleep_ns * 2 < longest_sleep_ns ? patience->sleep_ns * 2 : longest_sleep_ns;
    return true;
}

/* Is there a recorder that may still tell something? One that closes the gate has more to say until
 * it says "end"; one that was killed falls silent. */
static bool is_recorder_there(void)
{
    const struct ss_ring_header *header = ss_process_header;
    if (atomic_load_explicit(&header->recorder_pid, memory_order_relaxed) == 0) {
        return false;
    }
    ss_process_check_heartbeat();
    uint64_t heard_ns = atomic_load_explicit(&header->heartbeat_ns, memory_order_relaxed);
    uint64_t patience_ms = atomic_load_explicit(&header->patience_ms, memory_order_relaxed);
    patience_ms = patience_ms != 0 ? patience_ms : SS_RING_DEFAULT_PATIENCE_MS;
    return ss_stamp_monotonic_ns() < heard_ns + patience_ms * 1000000;
}

/* --- notices --------------------------------------------------------------------------------- */

static void copy_out(const struct ss_ring_sealed *sealed, struct stepscope_sealed *out)
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

static enum outcome look(struct notices *notices, uint64_t number, struct stepscope_sealed *out)
{
    char line[SS_RING_SEALED_LINE_BYTES];
    size_t length;
    int fd = ss_process_open_sealed();
    enum outcome outcome = NOT_YET;
    while (fd >= 0 && outcome == NOT_YET && next_line(fd, notices, line, &length)) {
        struct ss_ring_sealed sealed;
        if (ss_ring_sealed_is_end(line, length)) {
            outcome = IS_OVER;
        } else if (ss_ring_sealed_get(line, length, &sealed) && notices->number++ == number) {
            copy_out(&sealed, out);
            outcome = IS_THERE;
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
    struct patience patience = patience_of(timeout_ms);
    struct notices notices = {0};
    enum outcome outcome = IS_OVER;
    bool is_there = ss_process_ensure();
    while (is_there) {
        bool goes_on = is_recorder_there(); /* before looking: what comes between is seen */
        outcome = look(&notices, number, out);
        if (outcome == NOT_YET && !goes_on) {
            outcome = IS_OVER;
        }
        if (outcome != NOT_YET || !wait_a_bit(&patience)) {
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
    struct patience patience = patience_of(timeout_ms);
    enum outcome outcome = IS_OVER;
    if (ss_process_ensure()) {
        struct ss_ring_header *header = ss_process_header;
        uint32_t wanted = atomic_fetch_add(&header->flush_wanted, 1) + 1;
        do {
            uint32_t gate = atomic_load(&header->gate);
            bool goes_on = (gate & SS_RING_GATE_ALL) != 0 && is_recorder_there();
            /* Pairs with the release of the recorder: all of ours is in its file then. */
            uint32_t done = atomic_load_explicit(&header->flush_done, memory_order_acquire);
            outcome = (int32_t)(done - wanted) >= 0 ? IS_THERE : goes_on ? NOT_YET : IS_OVER;
        } while (outcome == NOT_YET && wait_a_bit(&patience));
    }
    errno = saved;
    return (int)outcome;
}
