/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of deferred events. Times of the system's clocks are converted by readings at two moments;
 * times of the program's own clocks by the points that it supplies.
 */
#include <math.h>
#include <time.h>

#include "annot/stamp.h"
#include "inject/nvtx/nvtx_abi.h"
#include "inject/nvtx/nvtx_extension.h"
#include "inject/nvtx/nvtx_names.h"

enum { MAX_CLOCKS = 128 };

/* A stamp and CLOCK_MONOTONIC, read when NVTX first called this library. */
static struct {
    uint64_t stamp, ns;
} start;

void ss_nvtx_time_init(void)
{
    if (ss_nvtx_lock()) {
        if (start.stamp == 0) {
            start.ns = ss_stamp_monotonic_ns();
            start.stamp = ss_stamp_now();
        }
        ss_nvtx_unlock();
    }
}

int64_t ss_nvtx_time_get(void)
{
    return (int64_t)ss_stamp_now();
}

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_sane(double stamp)
{
    return stamp > 0 && stamp < 9e18;
}

/* The stamp `ago_ns` before now. */
static bool stamp_of_ago(int64_t ago_ns, uint64_t *stamp)
{
    uint64_t ns = ss_stamp_monotonic_ns(), now = ss_stamp_now();
    double per_ns = 1;
    if (ss_stamp_clock == SS_RING_CLOCK_TSC) {
        if (ns <= start.ns || now <= start.stamp) {
            return false;
        }
        per_ns = (double)(now - start.stamp) / (double)(ns - start.ns);
    }
    double back = (double)ago_ns * per_ns;
    if (!is_sane((double)now - back)) {
        return false;
    }
    *stamp = now - (uint64_t)(int64_t)back;
    return true;
}

/* false: not a clock of the system, or a time that cannot be converted. */
static bool stamp_of_clock(uint64_t type, int64_t time, uint64_t *stamp)
{
    static const struct {
        uint8_t type;
        int8_t clock;
    } clocks[] = {{SS_NVTX_CLOCK_REALTIME, CLOCK_REALTIME},
                  {SS_NVTX_CLOCK_REALTIME_COARSE, CLOCK_REALTIME},
                  {SS_NVTX_CLOCK_TIMESPEC_GET, CLOCK_REALTIME},
                  {SS_NVTX_CLOCK_SYSTEM, CLOCK_REALTIME},
                  {SS_NVTX_CLOCK_HIGH_RESOLUTION, CLOCK_REALTIME}, /* as in libstdc++ */
                  {SS_NVTX_CLOCK_MONOTONIC, CLOCK_MONOTONIC},
                  {SS_NVTX_CLOCK_MONOTONIC_COARSE, CLOCK_MONOTONIC},
                  {SS_NVTX_CLOCK_STEADY, CLOCK_MONOTONIC},
                  {SS_NVTX_CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW},
                  {SS_NVTX_CLOCK_BOOTTIME, CLOCK_BOOTTIME}};
    bool is_stamp = type == SS_NVTX_CLOCK_TOOL ||
                    (type == SS_NVTX_CLOCK_TSC && ss_stamp_clock == SS_RING_CLOCK_TSC);
    if (is_stamp) {
        *stamp = (uint64_t)time;
        return time > 0;
    }
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        int64_t ago;
        if (clocks[i].type == type) {
            return !__builtin_sub_overflow(read_clock(clocks[i].clock), time, &ago) &&
                   stamp_of_ago(ago, stamp);
        }
    }
    return false;
}

/* --- the program's own clocks ----------------------------------------------------------------- */

struct point {
    int64_t time;
    uint64_t stamp;
};

/* The program's clock function. It is called without the lock: it may wait for a thread that waits
 * for the lock. */
struct source {
    int64_t (*plain)(void);
    int64_t (*with_data)(void *);
    void *data;
};

/* Guarded by the process lock: conversions are rare. */
static struct clock {
    uint64_t id;
    uint32_t domain, type;
    int64_t resolution;     /* ticks per second; 0: unknown */
    struct point points[2]; /* the first and the newest */
    uint32_t point_count;
    bool has_source;
    struct source source;
} program_clocks[MAX_CLOCKS];
static uint32_t clock_count;

static struct clock *find(uint32_t domain, uint64_t id)
{
    for (uint32_t i = 0; i < clock_count; i++) {
        struct clock *clock = &program_clocks[i];
        if (clock->id == id && (clock->domain == domain || id >= SS_NVTX_FIRST_DYNAMIC)) {
            return clock;
        }
    }
    return NULL;
}

/* Also adds ids that are neither registered nor a clock of the system: sync points may follow. */
static struct clock *find_or_add(uint32_t domain, uint64_t id)
{
    struct clock *clock = find(domain, id);
    if (clock == NULL && clock_count < MAX_CLOCKS) {
        clock = &program_clocks[clock_count++];
        *clock = (struct clock){.id = id, .domain = domain};
    }
    return clock;
}

static void add_point(struct clock *clock, int64_t time, uint64_t stamp)
{
    if (clock == NULL || (clock->point_count == 1 && clock->points[0].time == time)) {
        return;
    }
    clock->points[clock->point_count > 0] = (struct point){time, stamp};
    clock->point_count += clock->point_count < 2;
}

static bool stamp_of_points(const struct clock *clock, int64_t time, uint64_t *stamp)
{
    const struct point *first = &clock->points[0], *last = &clock->points[1];
    double rate, ticks = ss_stamp_clock == SS_RING_CLOCK_TSC ? 0 : 1e9;
    if (clock->point_count == 2) {
        rate = ((double)last->stamp - (double)first->stamp) /
               ((double)last->time - (double)first->time);
    } else if (clock->point_count == 1 && clock->resolution > 0) {
        uint64_t ns = ss_stamp_monotonic_ns(), now = ss_stamp_now();
        if (ticks == 0 && ns > start.ns) {
            ticks = (double)(now - start.stamp) / (double)(ns - start.ns) * 1e9;
        }
        rate = ticks / (double)clock->resolution;
    } else {
        return false;
    }
    double from = (double)time - (double)first->time;
    double at = (double)first->stamp + from * rate;
    if (!isfinite(at) || !is_sane(at)) {
        return false;
    }
    *stamp = first->stamp + (uint64_t)(int64_t)(from * rate);
    return true;
}

static struct point read_source(const struct source *source)
{
    int64_t time = source->plain != NULL ? source->plain() : source->with_data(source->data);
    return (struct point){time, ss_stamp_now()};
}

/* Adds a second point, some time after the first. Releases the lock meanwhile. false: it could not
 * be acquired again. */
static bool add_second_point(uint32_t domain, uint64_t time_domain)
{
    struct clock *clock = find(domain, time_domain);
    if (clock == NULL || !clock->has_source || clock->point_count != 1 ||
        ss_stamp_now() - clock->points[0].stamp < ss_stamp_second() / 1024) {
        return true;
    }
    struct source source = clock->source;
    ss_nvtx_unlock();
    struct point point = read_source(&source);
    if (!ss_nvtx_lock()) {
        return false;
    }
    add_point(clock, point.time, point.stamp);
    return true;
}

static bool convert(uint32_t domain, uint64_t time_domain, int64_t time, uint64_t *stamp)
{
    struct clock *clock = find(domain, time_domain);
    if (clock == NULL) {
        return stamp_of_clock(time_domain, time, stamp);
    }
    return stamp_of_clock(clock->type, time, stamp) || stamp_of_points(clock, time, stamp);
}

bool ss_nvtx_time_stamp(uint32_t domain, uint64_t time_domain, int64_t time, uint64_t *stamp)
{
    if (stamp_of_clock(time_domain, time, stamp)) {
        return true;
    }
    if (time_domain == SS_NVTX_CLOCK_TOOL || !ss_nvtx_lock()) {
        return false;
    }
    if (!add_second_point(domain, time_domain)) {
        return false;
    }
    bool is_known = convert(domain, time_domain, time, stamp);
    ss_nvtx_unlock();
    return is_known;
}

uint64_t ss_nvtx_time_register(const void *handle, const struct ss_nvtx_time_domain *attributes)
{
    if (attributes == NULL || !ss_nvtx_lock()) {
        return 0;
    }
    bool has_id = attributes->id >= SS_NVTX_FIRST_STATIC && attributes->id < SS_NVTX_FIRST_DYNAMIC;
    uint64_t id = has_id ? attributes->id : SS_NVTX_FIRST_DYNAMIC + clock_count;
    struct clock *clock = find_or_add(ss_nvtx_domain(handle), id);
    if (clock != NULL) {
        clock->type = attributes->type <= UINT32_MAX ? (uint32_t)attributes->type : 0;
        clock->resolution = attributes->resolution;
    }
    ss_nvtx_unlock();
    return clock != NULL ? id : 0;
}

static void set_source(const void *handle, uint64_t time_domain, struct source source)
{
    if (source.plain == NULL && source.with_data == NULL) {
        return;
    }
    struct point point = read_source(&source);
    if (!ss_nvtx_lock()) {
        return;
    }
    struct clock *clock = find_or_add(ss_nvtx_domain(handle), time_domain);
    if (clock != NULL) {
        clock->has_source = true;
        clock->source = source;
        add_point(clock, point.time, point.stamp);
    }
    ss_nvtx_unlock();
}

void ss_nvtx_time_source(const void *domain, uint64_t time_domain, uint64_t flags,
                         int64_t (*source)(void))
{
    (void)flags;
    set_source(domain, time_domain, (struct source){.plain = source});
}

void ss_nvtx_time_source_data(const void *domain, uint64_t time_domain, uint64_t flags,
                              int64_t (*source)(void *), void *data)
{
    (void)flags;
    set_source(domain, time_domain, (struct source){.with_data = source, .data = data});
}

static void sync_one(uint32_t domain, uint64_t first, uint64_t second, int64_t first_time,
                     int64_t second_time)
{
    uint64_t stamp;
    if (convert(domain, first, first_time, &stamp)) {
        add_point(find_or_add(domain, second), second_time, stamp);
    } else if (convert(domain, second, second_time, &stamp)) {
        add_point(find_or_add(domain, first), first_time, stamp);
    }
}

void ss_nvtx_time_sync(const void *handle, uint64_t first, uint64_t second, int64_t first_time,
                       int64_t second_time)
{
    struct ss_nvtx_sync_point point = {first_time, second_time};
    ss_nvtx_time_sync_table(handle, first, second, &point, 1);
}

void ss_nvtx_time_sync_table(const void *handle, uint64_t from, uint64_t to,
                             const struct ss_nvtx_sync_point *points, size_t count)
{
    if (points == NULL || !ss_nvtx_lock()) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        sync_one(ss_nvtx_domain(handle), from, to, points[i].from, points[i].to);
    }
    ss_nvtx_unlock();
}

void ss_nvtx_time_conversion(const void *handle, uint64_t from, uint64_t to, double slope,
                             int64_t from_time, int64_t to_time)
{
    static const double span = 1 << 30;
    double later = (double)to_time + slope * span;
    if (!(slope > 0) || !(later < 9e18) || from_time > INT64_MAX - (1 << 30)) {
        return;
    }
    struct ss_nvtx_sync_point points[2] = {
        {from_time, to_time}, {from_time + (1 << 30), to_time + (int64_t)(slope * span)}};
    ss_nvtx_time_sync_table(handle, from, to, points, 2);
}
