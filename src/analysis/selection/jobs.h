/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of a recording: which ranks ran together. A folder may hold files of several runs, or
 * one of them twice: ranks are only compared, and their collectives only matched, within a job.
 * Two ranks are of one job if they state no different world size, if neither is there twice, and
 * where several jobs fit, of the one that is nearest in time. Pure.
 */
#ifndef SS_ANALYSIS_SELECTION_JOBS_H
#define SS_ANALYSIS_SELECTION_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of a process that is a rank. */
struct ss_job_member {
    uint32_t process;
    int32_t pid;
    bool has_rank;
    uint32_t rank, world_size; /* world_size 0: unknown */
    uint64_t begin_ns, end_ns; /* of what is compared */
    uint32_t job;              /* from 0; SS_JOB_COPY: the same rank is there already */
};
enum { SS_JOB_COPY = UINT32_MAX };

/* Sets the job of each member, and returns the number of jobs. Reorders the members by begin. */
uint32_t ss_jobs_assign(struct ss_job_member *members, size_t count);

#endif
