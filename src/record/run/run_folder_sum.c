/* SPDX-License-Identifier: Apache-2.0 */
/* The run as a whole: waits for the recorders of the other ranks, and sums up what they left. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/vec.h"
#include "record/run/run_folder_inside.h"

enum { MOST_PIECE_BYTES = 65536, SHOWN = 8, MOST_RANKS = 1 << 20 };

static const useconds_t poll_us = 20000;
/* Between the end of a recorder and the word of its supervisor. */
static const double grace_s = 2;

struct others ss_vec_of(uint32_t);

struct hosts ss_vec_of(char *);

/* Whether a recorder holds the file: where the file system has no locks, none seems to. */
static bool is_held(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool is_held = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0) {
        close(fd);
    }
    return is_held;
}

static bool has_file(const struct ss_run_folder *run, uint32_t number, const char *ending)
{
    char *path = ss_run_folder_path(run, number, ending);
    bool has = access(path, F_OK) == 0;
    ss_free(path);
    return has;
}

static bool is_recording(const struct ss_run_folder *run, uint32_t number)
{
    char *path = ss_run_folder_path(run, number, ".pftrace");
    bool is_recording = is_held(path);
    ss_free(path);
    return is_recording;
}

/* The recorders of the run: selected by number, or, where nodes decide, those that have a file. */
static void find_expected(const struct ss_run_folder *run, uint32_t size, struct others *expected)
{
    struct ss_rank_selection all = *run->selection;
    bool is_by_number = ss_rank_selection_is_by_number(&all);
    all.most = 0; /* counted here */
    for (uint32_t i = 0; i < size && i < MOST_RANKS; i++) {
        bool is_full = run->selection->most > 0 && expected->count >= run->selection->most;
        if (is_by_number ? !is_full && ss_rank_selection_has_number(&all, i)
                         : has_file(run, i, ".pftrace")) {
            ss_vec_push(expected, i);
        }
    }
}

/* Removes those that have ended; returns whether one of the others still records. */
static bool drop_ended(const struct ss_run_folder *run, struct others *others)
{
    bool is_one_recording = false;
    size_t remaining = 0;
    for (size_t i = 0; i < others->count; i++) {
        uint32_t number = others->data[i];
        if (!has_file(run, number, ".json")) {
            is_one_recording = is_one_recording || is_recording(run, number);
            others->data[remaining++] = number;
        }
    }
    others->count = remaining;
    return is_one_recording;
}

/* A rank without a file may be about to start; one whose file no recorder holds was killed. */
static void wait_for(const struct ss_run_folder *run, const struct ss_clock *clock,
                     struct others *others, double patience_s)
{
    uint64_t begin_ns = ss_clock_now_ns(clock), recording_ns = begin_ns;
    for (;;) {
        bool is_one_recording = drop_ended(run, others);
        uint64_t now_ns = ss_clock_now_ns(clock);
        recording_ns = is_one_recording ? now_ns : recording_ns;
        if (others->count == 0 || (double)(now_ns - begin_ns) / 1e9 >= patience_s ||
            (double)(now_ns - recording_ns) / 1e9 >= grace_s) {
            return;
        }
        usleep(poll_us);
    }
}

/* --- sums ------------------------------------------------------------------------------------- */

static void add_text(char *text, size_t size, uint32_t count, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The first few, then an ellipsis. */
static void add_text(char *text, size_t size, uint32_t count, const char *format, ...)
{
    size_t used = strlen(text);
    if (count > SHOWN) {
        return;
    }
    used += (size_t)snprintf(text + used, size - used, "%s", count > 0 ? ", " : "");
    if (count == SHOWN) {
        snprintf(text + used, size - used, "…");
        return;
    }
    va_list list;
    va_start(list, format);
    vsnprintf(text + used, size - used, format, list);
    va_end(list);
}

static uint64_t number_in(const json_t *piece, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(piece, key));
    return value > 0 ? (uint64_t)value : 0;
}

static void add_host(struct hosts *hosts, const char *host)
{
    for (size_t i = hosts->count; i-- > 0;) {
        if (strcmp(hosts->data[i], host) == 0) {
            return;
        }
    }
    ss_vec_push(hosts, ss_strdup(host));
}

static void add_end(struct ss_run_summary *summary, const json_t *piece, uint32_t number)
{
    const char *by_signal = json_string_value(json_object_get(piece, "signal"));
    uint64_t status = number_in(piece, "exit_status");
    if (by_signal != NULL) {
        add_text(summary->failed, sizeof summary->failed, summary->failed_count++, "%u (%.20s)",
                 number, by_signal);
    } else if (status != 0) {
        add_text(summary->failed, sizeof summary->failed, summary->failed_count++, "%u (status %u)",
                 number, (unsigned)status);
    }
}

/* NULL: none, or of an earlier run. */
static json_t *read_piece(const struct ss_run_folder *run, uint32_t number, const char *run_id)
{
    struct stat info;
    char *path = ss_run_folder_path(run, number, ".json");
    json_t *piece =
        stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= MOST_PIECE_BYTES
            ? json_load_file(path, 0, NULL)
            : NULL;
    ss_free(path);
    const char *its_run = json_string_value(json_object_get(piece, "run_id"));
    if (its_run != NULL && strcmp(its_run, run_id) == 0) {
        return piece;
    }
    json_decref(piece);
    return NULL;
}

static void add_piece(const struct ss_run_folder *run, uint32_t number, const char *run_id,
                      struct hosts *hosts, struct ss_run_summary *summary)
{
    json_t *piece = read_piece(run, number, run_id);
    if (piece == NULL) {
        add_text(summary->missing, sizeof summary->missing, summary->missing_count++, "%u", number);
        return;
    }
    const char *host = json_string_value(json_object_get(piece, "host"));
    double seconds = json_number_value(json_object_get(piece, "seconds"));
    summary->finished++;
    summary->samples += number_in(piece, "samples");
    summary->lost += number_in(piece, "lost");
    summary->partial += number_in(piece, "partial");
    summary->late += number_in(piece, "late");
    summary->bytes += number_in(piece, "bytes");
    summary->seconds = seconds > summary->seconds ? seconds : summary->seconds;
    add_host(hosts, host != NULL ? host : "");
    add_end(summary, piece, number);
    json_decref(piece);
}

void ss_run_folder_sum(const struct ss_run_folder *run, const struct ss_clock *clock,
                       double patience_s, struct ss_run_summary *summary)
{
    struct others expected = {0}, others = {0};
    struct hosts hosts = {0};
    struct ss_strbuf run_id;
    bool has_size = run->facts.has[SS_RANK] && run->facts.has[SS_WORLD_SIZE];
    *summary =
        (struct ss_run_summary){.world_size = has_size ? run->facts.numbers[SS_WORLD_SIZE] : 0};
    find_expected(run, summary->world_size, &expected);
    for (size_t i = 0; i < expected.count; i++) {
        ss_vec_push(&others, expected.data[i]);
    }
    wait_for(run, clock, &others, patience_s);
    summary->expected = (uint32_t)expected.count;
    if (!has_size) {
        ss_vec_push(&expected, run->facts.numbers[SS_RANK]);
    }
    ss_strbuf_init(&run_id, SS_RUN_ID_BYTES);
    ss_run_id(&run->facts, &run_id);
    for (size_t i = 0; i < expected.count; i++) {
        add_piece(run, expected.data[i], run_id.data, &hosts, summary);
    }
    ss_strbuf_fini(&run_id);
    summary->hosts = (uint32_t)hosts.count;
    for (size_t i = 0; i < hosts.count; i++) {
        ss_free(hosts.data[i]);
    }
    ss_vec_fini(&hosts);
    ss_vec_fini(&expected);
    ss_vec_fini(&others);
}
