/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random runs of several ranks, simulated and then recorded into a model: what a step of each rank
 * does, collectives that end for all when the last one has arrived, and a recording that may lack
 * calls, numbers, phases or steps, by clocks that differ. The same seed makes the same run.
 */
#ifndef SS_TESTS_SIMULATED_RUN_H
#define SS_TESTS_SIMULATED_RUN_H

#include <string.h>

#include "../rank_builder.h"
#include "base/intern.h"

#define RUN_US UINT64_C(1000)
#define RUN_MS UINT64_C(1000000)

enum { RUN_RANKS = 16, RUN_STEPS = 24, RUN_BUCKETS = 3, RUN_NO_RANK = -1 };

/* Where a step has its time, in this order. */
enum run_place { RUN_DATA, RUN_FORWARD, RUN_OTHER, RUN_BACKWARD, RUN_PLACES };

struct run_shape {
    unsigned ranks, steps, buckets;
    unsigned others;      /* ranks of a second job; 0: there is none */
    int late;             /* rank; RUN_NO_RANK: none is */
    int others_late;      /* of the second job */
    enum run_place place; /* where it is late */
    uint64_t late_ns, noise_ns;
    uint64_t clock_ns; /* error of each clock; 0: they share one */
    unsigned lost_percent;
    bool has_phases, is_on_devices, has_numbers, has_pairs, has_uneven_steps;
};

/* A call of a collective. */
struct run_call {
    const char *group, *name;
    uint32_t size;
    int64_t sequence;
    uint64_t begin_ns, end_ns;
};

struct run_step {
    uint64_t begin_ns, end_ns;
    uint64_t places[RUN_PLACES + 1]; /* edges, without what is waited for between them */
    uint64_t backward_ns;            /* when it begins */
};

enum { RUN_CALLS = RUN_STEPS * (RUN_BUCKETS + 1) };

struct run_rank {
    struct run_step steps[RUN_STEPS];
    struct run_call calls[RUN_CALLS];
    size_t count;
    unsigned first; /* step that is recorded */
    uint64_t offset_ns;
};

struct run {
    struct run_shape shape;
    struct run_rank ranks[RUN_RANKS];
    uint64_t state;
};

/* --- chance ------------------------------------------------------------------------------- */

static inline uint64_t run_draw(uint64_t *state, uint64_t below)
{
    *state = ss_hash_u64(*state + 1);
    return *state % below;
}

static inline bool run_chance(uint64_t *state, unsigned percent)
{
    return run_draw(state, 100) < percent;
}

static inline struct run_shape run_shape_of(uint64_t seed)
{
    static const uint64_t clocks_ns[] = {0, 0, 20 * RUN_US, 2 * RUN_MS, 40 * RUN_MS};
    static const unsigned losses[] = {0, 0, 0, 2, 12};
    uint64_t at = ss_hash_u64(seed + 77), *state = &at;
    struct run_shape shape = {.ranks = 2 + (unsigned)run_draw(state, RUN_RANKS - 1),
                              .steps = 3 + (unsigned)run_draw(state, RUN_STEPS - 2),
                              .buckets = 1 + (unsigned)run_draw(state, RUN_BUCKETS),
                              .late = RUN_NO_RANK,
                              .others_late = RUN_NO_RANK};
    if (run_chance(state, 60)) {
        shape.late = (int)run_draw(state, shape.ranks);
        shape.place = (enum run_place)run_draw(state, RUN_PLACES);
        shape.late_ns = run_chance(state, 20) ? RUN_MS : 8 * RUN_MS;
    }
    shape.noise_ns = run_chance(state, 50) ? 100 * RUN_US : 600 * RUN_US;
    shape.clock_ns = clocks_ns[run_draw(state, 5)];
    shape.lost_percent = losses[run_draw(state, 5)];
    shape.has_phases = run_chance(state, 70);
    shape.is_on_devices = run_chance(state, 35);
    shape.has_numbers = run_chance(state, 75);
    shape.has_pairs = shape.has_numbers && run_chance(state, 40);
    shape.has_uneven_steps = run_chance(state, 15);
    if (run_chance(state, 15) && shape.ranks > 2) {
        shape.others = 1 + (unsigned)run_draw(state, shape.ranks - 2);
        shape.others_late = shape.others > 1 ? (int)run_draw(state, shape.others) : RUN_NO_RANK;
    }
    return shape;
}

/* --- what happens ------------------------------------------------------------------------- */

static inline uint64_t run_work_ns(struct run *run, unsigned rank, enum run_place place)
{
    static const uint64_t works_ns[RUN_PLACES] = {2 * RUN_MS, 8 * RUN_MS, RUN_MS, 12 * RUN_MS};
    const struct run_shape *shape = &run->shape;
    bool is_late = shape->late == (int)rank && shape->place == place;
    return works_ns[place] + run_draw(&run->state, shape->noise_ns) +
           (is_late ? shape->late_ns : 0);
}

/* All members leave together, after the last one has come. */
static inline void run_collective(struct run *run, uint64_t *at_ns, unsigned first, unsigned count,
                                  const struct run_call *as)
{
    uint64_t last_ns = 0;
    for (unsigned r = first; r < first + count; r++) {
        last_ns = at_ns[r] > last_ns ? at_ns[r] : last_ns;
    }
    for (unsigned r = first; r < first + count; r++) {
        struct run_call call = *as;
        call.size = count;
        call.begin_ns = at_ns[r];
        call.end_ns = last_ns + 300 * RUN_US;
        run->ranks[r].calls[run->ranks[r].count++] = call;
        at_ns[r] = call.end_ns;
    }
}

static inline void run_pairs(struct run *run, uint64_t *at_ns, int64_t step)
{
    static const char *const names[] = {"pair 0", "pair 1", "pair 2", "pair 3",
                                        "pair 4", "pair 5", "pair 6", "pair 7"};
    for (unsigned first = 0; first + 1 < run->shape.ranks; first += 2) {
        struct run_call as = {.group = names[first / 2], .sequence = step};
        run_collective(run, at_ns, first, 2, &as);
    }
}

static inline void run_one_step(struct run *run, uint64_t *at_ns, unsigned step)
{
    unsigned ranks = run->shape.ranks;
    for (unsigned r = 0; r < ranks; r++) {
        struct run_step *of = &run->ranks[r].steps[step];
        of->begin_ns = at_ns[r];
        for (unsigned place = 0; place < RUN_BACKWARD; place++) {
            of->places[place] = at_ns[r];
            at_ns[r] += run_work_ns(run, r, (enum run_place)place);
        }
        of->places[RUN_BACKWARD] = at_ns[r];
    }
    if (run->shape.has_pairs) {
        run_pairs(run, at_ns, (int64_t)step);
    }
    for (unsigned r = 0; r < ranks; r++) {
        run->ranks[r].steps[step].backward_ns = at_ns[r];
        at_ns[r] += run_work_ns(run, r, RUN_BACKWARD);
        run->ranks[r].steps[step].places[RUN_PLACES] = at_ns[r];
    }
    for (unsigned b = 0; b < run->shape.buckets; b++) {
        struct run_call as = {.group = "world",
                              .sequence = (int64_t)(step * run->shape.buckets + b)};
        run_collective(run, at_ns, 0, ranks, &as);
        for (unsigned r = 0; r < ranks; r++) {
            at_ns[r] += 50 * RUN_US + run_draw(&run->state, 10 * RUN_US);
        }
    }
    for (unsigned r = 0; r < ranks; r++) {
        run->ranks[r].steps[step].end_ns = at_ns[r];
    }
}

static inline void run_simulate(struct run *run, uint64_t begin_ns)
{
    uint64_t at_ns[RUN_RANKS];
    for (unsigned r = 0; r < run->shape.ranks; r++) {
        struct run_rank *rank = &run->ranks[r];
        uint64_t error_ns = run->shape.clock_ns;
        rank->count = 0;
        rank->first = run->shape.has_uneven_steps && run_chance(&run->state, 30)
                          ? (unsigned)run_draw(&run->state, run->shape.steps / 2 + 1)
                          : 0;
        rank->offset_ns = error_ns > 0 ? run_draw(&run->state, 2 * error_ns) : 0;
        at_ns[r] = begin_ns + run_draw(&run->state, RUN_MS);
    }
    for (unsigned s = 0; s < run->shape.steps; s++) {
        run_one_step(run, at_ns, s);
    }
}

/* --- what is recorded --------------------------------------------------------------------- */

static inline void run_put_range(struct ss_model *model, const struct run_rank *rank,
                                 uint32_t track, const char *name, uint64_t begin_ns,
                                 uint64_t end_ns)
{
    if (end_ns > begin_ns) {
        BUILD_RANGE(model, .track = track, .name = name, .begin_ns = begin_ns + rank->offset_ns,
                    .end_ns = end_ns + rank->offset_ns);
    }
}

static inline void run_put_steps(struct ss_model *model, const struct run *run,
                                 const struct run_rank *rank, uint32_t process)
{
    uint32_t track = BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = process, .name = "step");
    for (unsigned s = rank->first; s < run->shape.steps; s++) {
        const struct run_step *step = &rank->steps[s];
        run_put_range(model, rank, track, "step", step->begin_ns, step->end_ns);
        model->ranges.data[model->ranges.count - 1].payload = build_integer(model, (int64_t)s);
    }
}

/* Hooks see the waits of a host, not those of a device. */
static inline void run_put_phases(struct ss_model *model, const struct run *run,
                                  const struct run_rank *rank, uint32_t process)
{
    bool waits = !run->shape.is_on_devices;
    size_t next = 0;
    uint32_t track =
        BUILD_TRACK(model, .kind = SS_TRACK_PHASES, .process = process, .name = "phase");
    for (unsigned s = rank->first; s < run->shape.steps; s++) {
        const struct run_step *step = &rank->steps[s];
        while (next < rank->count && rank->calls[next].begin_ns < step->begin_ns) {
            next++;
        }
        run_put_range(model, rank, track, "data", step->places[RUN_DATA],
                      step->places[RUN_FORWARD]);
        run_put_range(model, rank, track, "forward", step->places[RUN_FORWARD],
                      step->places[RUN_OTHER]);
        for (; next < rank->count && rank->calls[next].begin_ns < step->backward_ns; next++) {
            if (waits) {
                run_put_range(model, rank, track, "communication", rank->calls[next].begin_ns,
                              rank->calls[next].end_ns);
            }
        }
        run_put_range(model, rank, track, "backward", step->backward_ns, step->places[RUN_PLACES]);
        for (; next < rank->count && rank->calls[next].begin_ns < step->end_ns && waits; next++) {
            run_put_range(model, rank, track, "communication", rank->calls[next].begin_ns,
                          rank->calls[next].end_ns);
        }
    }
}

static inline void run_put_call(struct ss_model *model, const struct run *run,
                                const struct run_rank *rank, uint32_t track,
                                const struct run_call *call)
{
    const char *name = run->shape.is_on_devices ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL" : NULL;
    BUILD_COLLECTIVE(model, .track = track, .name = name,
                     .group = run->shape.has_numbers ? call->group : NULL, .size = call->size,
                     .sequence = call->sequence, .begin_ns = call->begin_ns + rank->offset_ns,
                     .end_ns = call->end_ns + rank->offset_ns, .bytes = 4096);
    if (run->shape.is_on_devices) {
        uint32_t path = model->ranges.data[model->ranges.count - 1].path;
        model->names.data[model->paths.data[path].name].type = SS_EVENT_TYPE_kernel;
    }
}

static inline void run_put_calls(struct ss_model *model, struct run *run,
                                 const struct run_rank *rank, uint32_t track)
{
    for (size_t i = 0; i < rank->count; i++) {
        bool is_before = rank->calls[i].begin_ns < rank->steps[rank->first].begin_ns;
        if (!is_before && !run_chance(&run->state, run->shape.lost_percent)) {
            run_put_call(model, run, rank, track, &rank->calls[i]);
        }
    }
}

static inline uint32_t run_put_stream(struct ss_model *model, uint32_t process, uint32_t device,
                                      uint64_t number)
{
    ss_vec_push(&model->streams, (struct ss_model_stream){.device = device, .number = number});
    uint32_t track = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = process,
                                 .device = device, .name = "stream");
    model->tracks.data[track].stream = (uint32_t)model->streams.count - 1;
    return track;
}

/* Kernels from the forward to the end of the backward. */
static inline void run_put_device(struct ss_model *model, struct run *run,
                                  const struct run_rank *rank, uint32_t process, int32_t number)
{
    ss_vec_push(&model->devices, (struct ss_model_device){.kind = SS_DEVICE_GPU, .number = number});
    uint32_t device = (uint32_t)model->devices.count - 1;
    uint32_t track = run_put_stream(model, process, device, 7);
    for (unsigned s = rank->first; s < run->shape.steps; s++) {
        const struct run_step *step = &rank->steps[s];
        run_put_range(model, rank, track, "gemm", step->places[RUN_FORWARD],
                      step->places[RUN_OTHER]);
        run_put_range(model, rank, track, "gemm", step->backward_ns, step->places[RUN_PLACES]);
    }
    uint32_t name = build_name(model, "gemm", NULL);
    model->names.data[name].type = SS_EVENT_TYPE_kernel;
    run_put_calls(model, run, rank, run_put_stream(model, process, device, 8));
}

static inline void run_record(struct ss_model *model, struct run *run)
{
    for (unsigned r = 0; r < run->shape.ranks; r++) {
        const struct run_rank *rank = &run->ranks[r];
        uint32_t process = build_rank(model, r, run->shape.ranks);
        BUILD_THREAD(model, .process = process, .tid = 100 + (int64_t)r, .is_main = true);
        if (run->shape.clock_ns > 0) {
            build_clock(model, process, SS_CLOCK_BY_SHARED_WALL, run->shape.clock_ns);
        }
        run_put_steps(model, run, rank, process);
        if (run->shape.has_phases) {
            run_put_phases(model, run, rank, process);
        }
        if (run->shape.is_on_devices) {
            run_put_device(model, run, rank, process, (int32_t)r);
        } else {
            run_put_calls(model, run, rank, build_collective_track(model, process));
        }
    }
}

/* Fills an empty model. */
static inline void run_build(struct ss_model *model, const struct run_shape *shape, uint64_t seed)
{
    static struct run run;
    run.shape = *shape;
    run.state = ss_hash_u64(seed);
    run_simulate(&run, 1000 * RUN_MS);
    run_record(model, &run);
    if (shape->others > 0) {
        run.shape.ranks = shape->others;
        run.shape.late = shape->others_late;
        run_simulate(&run, 1000000 * RUN_MS);
        run_record(model, &run);
    }
}

#endif
