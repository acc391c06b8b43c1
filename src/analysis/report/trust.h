/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report states on its own input: what was recorded, how faithfully, and how much of it the
 * tables show. Facts and numbers; report_header.c words them. Strings are borrowed from the model.
 */
#ifndef SS_ANALYSIS_REPORT_TRUST_H
#define SS_ANALYSIS_REPORT_TRUST_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/launches/lost_kernels.h"
#include "analysis/samples/overhead.h"
#include "analysis/selection/selection.h"
#include "base/vec.h"

enum ss_trust_problem_kind {
    SS_PROBLEM_UNSEALED,    /* the writer did not close the file: cut, or still being written */
    SS_PROBLEM_DAMAGED,     /* bytes or units could not be read */
    SS_PROBLEM_CUT,         /* another tool's file ends within its events */
    SS_PROBLEM_FAILED,      /* a source of samples failed */
    SS_PROBLEM_UNAVAILABLE, /* the Python sampler could not run */
    SS_PROBLEM_NO_SAMPLES,
    SS_PROBLEM_NO_EVENTS,    /* another tool's file has nothing but names */
    SS_PROBLEM_MISSING_RANKS /* `reason`: their numbers */
};

/* Why a report is not the whole truth. */
struct ss_trust_problem {
    enum ss_trust_problem_kind kind;
    const char *input;  /* path */
    const char *reason; /* "" when the kind says it all */
    uint64_t offset;    /* DAMAGED: of the first damage */
    uint64_t lost_bytes;
    bool has_rank; /* NO_EVENTS: the file says whose it is */
    uint32_t rank, world_size;
};

/* What the recording of devices counted of itself. */
enum ss_trust_device_count {
    SS_TRUST_KERNELS,
    SS_TRUST_DROPPED_RECORDS, /* by the interface of the device */
    SS_TRUST_REFUSED_BUFFERS, /* that the interface asked for */
    SS_TRUST_UNTIMED_KERNELS,
    SS_TRUST_UNRECORDED_KERNELS, /* whose launch was observed */
    SS_TRUST_LOST_RECORDS,       /* on their way to the recorder */
    SS_TRUST_EARLY_WORKS,        /* that begin before their launch: the device's times are wrong */
    SS_TRUST_DEVICE_COUNTS
};

struct ss_trust_input {
    const char *path;
    enum ss_input_kind kind;
    const char *command, *hostname, *runtime; /* "" unknown */
    const char *torch_route;                  /* how PyTorch was detected; "": it was not */
    int64_t start_unix_ns;                    /* 0 unknown */
    double duration_s;                        /* between first and last sample; 0 unknown */
    double requested_hz, achieved_hz;         /* 0 unknown */
    uint64_t samples;                         /* ticks in the model */
    uint64_t lines, skipped_lines;
    const char *tool; /* that wrote an import */
    bool is_untimed;  /* its samples are weights without times */
    const char *unit; /* that its samples count; "": ticks */
    uint64_t skipped_events, skipped_offset;
    const char *skip_reason; /* of the first that was skipped, at that offset */
    uint32_t processes, threads;
    struct ss_model_clock_domain clock; /* how its times are mapped to the axis of all inputs */
    /* The counts of the sampling sources, summed. */
    bool has_counts;
    uint64_t due, done, skipped, late;
    uint64_t seen, partial, lost, dropped, processes_short;
    /* Annotation events: emitted by the programs, and not stored. */
    uint64_t events, events_dropped;
    bool has_device_counts;
    uint64_t device_counts[SS_TRUST_DEVICE_COUNTS];
    uint64_t repaired_places, repaired_bytes; /* what `repair` had to leave out */
    struct ss_overhead overhead;
};

/* A source without data that its user did not turn off. */
struct ss_trust_absence {
    const char *source, *reason;
};

/* What the tool that wrote an import warned of while it recorded. */
struct ss_trust_warning {
    const char *tool, *text;
    bool is_error;
    uint64_t count; /* of messages with this text */
};
enum { SS_TRUST_MOST_WARNINGS = 32 };

struct ss_trust {
    struct ss_vec_of(struct ss_trust_input) inputs;
    struct ss_vec_of(struct ss_trust_problem) problems;
    struct ss_vec_of(struct ss_trust_absence) left_out; /* each source once */
    struct ss_vec_of(struct ss_trust_warning)
        warnings;           /* each text once; errors first, then what says that data is missing */
    uint64_t more_warnings; /* of texts beyond SS_TRUST_MOST_WARNINGS */
    struct ss_trust_input all; /* sums over the inputs; names of the first, overhead the largest */
    /* Launches of kernels, those without a kernel, and how many of these end the recording. */
    uint64_t launches, lost_kernels, lost_at_end;
    /* Steps; those whose operators and modules are in the recording as sums, and those that are in
     * full because they stood out. */
    uint64_t steps, summed_steps, outstanding_steps;
    bool sums_ranges; /* at its end, also of ranges that the program marks itself */
    uint32_t skipped_files;
    const char *why_no_marks;   /* why annotations or torch were not fully recorded; NULL: they
                                 * were */
    const char *why_no_samples; /* NULL: there are some, or their absence is a problem */
    const struct ss_selection *selection;
};

void ss_trust_init(struct ss_trust *trust, const struct ss_selection *selection);
void ss_trust_fini(struct ss_trust *trust);
void ss_trust_add_lost_kernels(struct ss_trust *trust, const struct ss_lost_kernels *lost);
void ss_trust_add_detail(struct ss_trust *trust, size_t steps, size_t summed, size_t stood_out);
/* For views of ranges and counters, where a recording without samples is not a problem. */
void ss_trust_allow_no_samples(struct ss_trust *trust);

#endif
