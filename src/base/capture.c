/* SPDX-License-Identifier: Apache-2.0 */
#include "base/capture.h"

#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* A recording whose windows are not known yet, as its processes have it. */
static const char on_demand[] = "on-demand";
static const char prefix[] = "capture/";
static const int64_t most_count = INT64_C(1000000000000); /* as in schedules */

static const uint64_t second_ns = UINT64_C(1000000000);

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* --- numbers, times, signals ------------------------------------------------------------------ */

static bool read_count(const char *text, const char **end, int64_t *count)
{
    *count = 0;
    *end = text;
    for (; isdigit((unsigned char)**end); (*end)++) {
        *count = *count > most_count ? *count : *count * 10 + (**end - '0');
    }
    return *end != text && *count <= most_count;
}

static const struct {
    const char *unit;
    uint64_t ns;
} units[] = {{"ms", UINT64_C(1000000)},
             {"s", UINT64_C(1000000000)},
             {"m", UINT64_C(60000000000)},
             {"h", UINT64_C(3600000000000)},
             {"", UINT64_C(1000000000)}};

/* "30s", "1.5m", "250ms", "30" seconds; up to a comma. */
static bool read_time(const char *text, const char **end, uint64_t *time_ns)
{
    int64_t whole, thousandths = 0;
    if (!read_count(text, end, &whole)) {
        return false;
    }
    if (**end == '.') {
        int64_t scale = 100;
        for ((*end)++; isdigit((unsigned char)**end); (*end)++) {
            thousandths += (**end - '0') * scale;
            scale /= 10;
        }
    }
    const char *unit = *end;
    *end += strcspn(unit, ",");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strlen(units[i].unit) == (size_t)(*end - unit) &&
            strncmp(units[i].unit, unit, (size_t)(*end - unit)) == 0) {
            *time_ns = (uint64_t)whole * units[i].ns + (uint64_t)thousandths * (units[i].ns / 1000);
            return *time_ns > 0 && (uint64_t)whole < UINT64_C(100000000) * second_ns / units[i].ns;
        }
    }
    return false;
}

/* Signals without a meaning of their own. */
static const struct {
    const char *name;
    int number;
} signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}};

static int read_signal(const char *text)
{
    const char *name = starts_with(text, "SIG") ? text + strlen("SIG") : text;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (strcmp(signals[i].name, name) == 0) {
            return signals[i].number;
        }
    }
    int64_t number;
    const char *end;
    bool is_real_time = starts_with(name, "RTMIN+") &&
                        read_count(name + strlen("RTMIN+"), &end, &number) && *end == '\0' &&
                        number <= SIGRTMAX - SIGRTMIN;
    return is_real_time ? SIGRTMIN + (int)number : 0;
}

/* --- what begins a window --------------------------------------------------------------------- */

/* Nsight Systems' words: "NAME" and "NAME@*" are a range of any domain, "NAME@" one of the default
 * domain. The last "@" counts. */
static enum ss_status read_range(const char *text, struct ss_capture *capture, struct ss_error *err)
{
    const char *at = strrchr(text, '@');
    size_t length = at != NULL ? (size_t)(at - text) : strlen(text);
    const char *domain = at != NULL ? at + 1 : "*";
    if (length == 0 || length >= sizeof capture->name || strlen(domain) >= sizeof capture->domain) {
        return ss_fail(err, SS_E_USAGE,
                       "the name of a range has 1 to %zu bytes, and so has its domain: "
                       "nvtx:NAME or nvtx:NAME@DOMAIN",
                       sizeof capture->name - 1);
    }
    memcpy(capture->name, text, length);
    capture->name[length] = '\0';
    capture->is_any_domain = strcmp(domain, "*") == 0;
    memcpy(capture->domain, domain, strlen(domain) + 1);
    return SS_OK;
}

static enum ss_status read_steps(const char *text, struct ss_capture *capture, struct ss_error *err)
{
    const char *end;
    bool is_ok = read_count(text, &end, &capture->first_step);
    capture->last_step = capture->first_step;
    if (is_ok && (*end == '-' || *end == ':')) {
        is_ok = read_count(end + 1, &end, &capture->last_step);
    }
    return is_ok && *end == '\0' && capture->last_step >= capture->first_step
               ? SS_OK
               : ss_fail(err, SS_E_USAGE,
                         "steps are two numbers, the first and the last one, as in step:100-109");
}

static enum ss_status read_times(const char *text, struct ss_capture *capture, struct ss_error *err)
{
    while (true) {
        bool is_delay = starts_with(text, "delay:");
        uint64_t *time_ns = is_delay ? &capture->delay_ns : &capture->duration_ns;
        bool is_known = is_delay || starts_with(text, "duration:");
        const char *end = text;
        if (!is_known || *time_ns != 0 || !read_time(strchr(text, ':') + 1, &end, time_ns)) {
            return ss_fail(err, SS_E_USAGE,
                           "a time is a number with ms, s, m or h, as in delay:30s,duration:60s");
        }
        if (*end == '\0') {
            return SS_OK;
        }
        text = end + 1;
    }
}

static enum ss_status read_what(const char *text, struct ss_capture *capture, struct ss_error *err)
{
    if (strcmp(text, "cuda-profiler-api") == 0) {
        capture->by = SS_CAPTURE_BY_PROFILER_API;
        return SS_OK;
    }
    if (starts_with(text, "nvtx:")) {
        capture->by = SS_CAPTURE_BY_NVTX;
        return read_range(text + strlen("nvtx:"), capture, err);
    }
    if (starts_with(text, "step:")) {
        capture->by = SS_CAPTURE_BY_STEPS;
        return read_steps(text + strlen("step:"), capture, err);
    }
    if (starts_with(text, "delay:") || starts_with(text, "duration:")) {
        capture->by = SS_CAPTURE_BY_TIME;
        return read_times(text, capture, err);
    }
    if (starts_with(text, "signal:")) {
        capture->by = SS_CAPTURE_BY_SIGNAL;
        capture->signal = read_signal(text + strlen("signal:"));
        return capture->signal != 0
                   ? SS_OK
                   : ss_fail(err, SS_E_USAGE,
                             "the signal is USR1, USR2 or RTMIN+N, as in signal:USR2");
    }
    return ss_fail(err, SS_E_USAGE,
                   "a capture is cuda-profiler-api, nvtx:NAME, step:A-B, delay:30s, duration:60s "
                   "or signal:USR2");
}

/* --- what the end of a window does ------------------------------------------------------------ */

static enum ss_status read_end(const char *text, struct ss_capture *capture, struct ss_error *err)
{
    static const char repeat[] = "repeat", repeat_shutdown[] = "repeat-shutdown";
    int64_t most = 0;
    const char *end = text;
    bool is_single = strcmp(text, "stop") == 0 || strcmp(text, "stop-shutdown") == 0;
    bool repeats = strcmp(text, repeat) == 0;
    bool is_counted = starts_with(text, "repeat:") || starts_with(text, "repeat-shutdown:");
    if (is_counted) {
        is_counted = read_count(strchr(text, ':') + 1, &end, &most) && *end == '\0' && most > 0 &&
                     most < UINT32_MAX;
    }
    capture->stays_open = strcmp(text, "none") == 0;
    capture->ends_program =
        strcmp(text, "stop-shutdown") == 0 || (is_counted && starts_with(text, repeat_shutdown));
    capture->most = is_single || capture->stays_open ? 1 : (uint32_t)most;
    return is_single || repeats || is_counted || capture->stays_open
               ? SS_OK
               : ss_fail(err, SS_E_USAGE,
                         "the end of a capture is repeat, repeat:N, stop, none, stop-shutdown or "
                         "repeat-shutdown:N");
}

enum ss_status ss_capture_parse(const char *what, const char *end, struct ss_capture *capture,
                                struct ss_error *err)
{
    struct ss_capture parsed = {0};
    SS_TRY(read_what(what, &parsed, err));
    SS_TRY(read_end(end != NULL ? end : "repeat", &parsed, err));
    bool is_once = parsed.by == SS_CAPTURE_BY_STEPS || parsed.by == SS_CAPTURE_BY_TIME;
    bool is_to_end =
        parsed.by == SS_CAPTURE_BY_TIME && parsed.duration_ns == 0 && parsed.ends_program;
    if (is_to_end) {
        return ss_fail(err, SS_E_USAGE,
                       "nothing ends a capture that has no duration: add duration:TIME");
    }
    parsed.most = is_once ? 1 : parsed.most;
    *capture = parsed;
    return SS_OK;
}

/* --- for processes ---------------------------------------------------------------------------- */

void ss_capture_put(const struct ss_capture *capture, char *text, size_t size)
{
    const char *end = capture->stays_open ? "none" : "repeat";
    int length = capture->stays_open || capture->most == 0
                     ? snprintf(text, size, "%s%s/", prefix, end)
                     : snprintf(text, size, "%s%s:%" PRIu32 "/", prefix, end, capture->most);
    char *rest = text + length;
    size_t left = size - (size_t)length;
    if (capture->by == SS_CAPTURE_BY_PROFILER_API) {
        snprintf(rest, left, "cuda-profiler-api");
    } else if (capture->by == SS_CAPTURE_BY_NVTX) {
        snprintf(rest, left, "nvtx:%s@%s", capture->name, capture->domain);
    } else if (capture->by == SS_CAPTURE_BY_STEPS) {
        snprintf(rest, left, "step:%" PRId64 "-%" PRId64, capture->first_step, capture->last_step);
    } else {
        snprintf(text, size, "%s", on_demand);
    }
}

bool ss_capture_get(const char *text, struct ss_capture *capture)
{
    if (text == NULL || !starts_with(text, prefix)) {
        return false;
    }
    char end[32];
    const char *begin = text + strlen(prefix), *slash = strchr(begin, '/');
    if (slash == NULL || (size_t)(slash - begin) >= sizeof end) {
        return false;
    }
    memcpy(end, begin, (size_t)(slash - begin));
    end[slash - begin] = '\0';
    return ss_capture_parse(slash + 1, end, capture, NULL) == SS_OK;
}
