/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/selection/jobs.h"

#include <stdlib.h>

static int compare_members(const void *left, const void *right)
{
    const struct ss_job_member *a = left, *b = right;
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a->process > b->process) - (a->process < b->process);
}

static bool is_copy(const struct ss_job_member *a, const struct ss_job_member *b)
{
    return a->has_rank && b->has_rank && a->rank == b->rank && a->world_size == b->world_size &&
           a->pid == b->pid && a->begin_ns == b->begin_ns && a->end_ns == b->end_ns;
}

static bool fits(const struct ss_job_member *a, const struct ss_job_member *b)
{
    bool is_one_world = a->world_size == 0 || b->world_size == 0 || a->world_size == b->world_size;
    return is_one_world && !(a->has_rank && b->has_rank && a->rank == b->rank);
}

static uint64_t apart_ns(const struct ss_job_member *a, const struct ss_job_member *b)
{
    const struct ss_job_member *first = a->begin_ns <= b->begin_ns ? a : b;
    const struct ss_job_member *second = first == a ? b : a;
    return second->begin_ns > first->end_ns ? second->begin_ns - first->end_ns : 0;
}

/* Of the jobs of the members before it, the nearest that it fits into; `jobs`: none. */
static uint32_t nearest_job(const struct ss_job_member *members, size_t index, uint32_t jobs)
{
    const struct ss_job_member *member = &members[index];
    uint32_t nearest = jobs;
    uint64_t nearest_ns = UINT64_MAX;
    for (uint32_t job = 0; job < jobs; job++) {
        uint64_t job_ns = UINT64_MAX;
        bool fits_all = true;
        for (size_t i = 0; i < index && fits_all; i++) {
            if (members[i].job == job) {
                uint64_t ns = apart_ns(&members[i], member);
                job_ns = ns < job_ns ? ns : job_ns;
                fits_all = fits(&members[i], member);
            }
        }
        if (fits_all && job_ns < nearest_ns) {
            nearest = job;
            nearest_ns = job_ns;
        }
    }
    return nearest;
}

uint32_t ss_jobs_assign(struct ss_job_member *members, size_t count)
{
    uint32_t jobs = 0;
    if (count > 1) {
        qsort(members, count, sizeof *members, compare_members);
    }
    for (size_t i = 0; i < count; i++) {
        bool is_known = false;
        for (size_t k = 0; k < i && !is_known; k++) {
            is_known =
                members[k].begin_ns == members[i].begin_ns && is_copy(&members[k], &members[i]);
        }
        if (is_known) {
            members[i].job = SS_JOB_COPY;
            continue;
        }
        members[i].job = nearest_job(members, i, jobs);
        jobs += members[i].job == jobs;
    }
    return jobs;
}
