/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/selection/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { DAY = 86400 };

static struct ss_job_member member(uint32_t process, uint32_t rank, uint32_t world, uint64_t begin,
                                   uint64_t end)
{
    return (struct ss_job_member){.process = process,
                                  .pid = (int32_t)process + 100,
                                  .has_rank = true,
                                  .rank = rank,
                                  .world_size = world,
                                  .begin_ns = begin,
                                  .end_ns = end};
}

static uint32_t job_of(const struct ss_job_member *members, size_t count, uint32_t process)
{
    for (size_t i = 0; i < count; i++) {
        if (members[i].process == process) {
            return members[i].job;
        }
    }
    fail();
    return 0;
}

static void ranks_of_one_world_are_one_job(void **state)
{
    (void)state;
    struct ss_job_member all[] = {member(1, 0, 3, 10, 90), member(2, 2, 3, 20, 95),
                                  member(3, 1, 3, 5, 80)};
    assert_int_equal(ss_jobs_assign(all, 3), 1);
    /* Clocks may differ by more than the run lasts. */
    struct ss_job_member far[] = {member(1, 0, 2, 10, 90), member(2, 1, 2, DAY, DAY + 80)};
    assert_int_equal(ss_jobs_assign(far, 2), 1);
}

static void another_world_size_is_another_job(void **state)
{
    (void)state;
    struct ss_job_member all[] = {member(1, 0, 2, 10, 90), member(2, 1, 2, 10, 90),
                                  member(3, 0, 4, DAY, DAY + 90)};
    assert_int_equal(ss_jobs_assign(all, 3), 2);
    assert_int_equal(job_of(all, 3, 1), job_of(all, 3, 2));
    assert_int_not_equal(job_of(all, 3, 1), job_of(all, 3, 3));
    struct ss_job_member unknown[] = {member(1, 0, 2, 10, 90), member(2, 1, 0, 10, 90)};
    assert_int_equal(ss_jobs_assign(unknown, 2), 1);
}

/* The same job again: ranks join the run that is nearest in time. */
static void a_rank_is_in_a_job_once(void **state)
{
    (void)state;
    struct ss_job_member all[] = {member(1, 0, 2, 10, 90), member(2, 1, 2, 12, 90),
                                  member(3, 1, 2, DAY, DAY + 80),
                                  member(4, 0, 2, DAY + 1, DAY + 80)};
    assert_int_equal(ss_jobs_assign(all, 4), 2);
    assert_int_equal(job_of(all, 4, 1), job_of(all, 4, 2));
    assert_int_equal(job_of(all, 4, 3), job_of(all, 4, 4));
    assert_int_not_equal(job_of(all, 4, 1), job_of(all, 4, 3));
}

static void a_copy_is_no_job(void **state)
{
    (void)state;
    struct ss_job_member all[] = {member(1, 0, 2, 10, 90), member(2, 1, 2, 12, 90),
                                  member(3, 0, 2, 10, 90)};
    all[2].pid = all[0].pid;
    assert_int_equal(ss_jobs_assign(all, 3), 1);
    assert_int_equal(job_of(all, 3, 3), SS_JOB_COPY);
    assert_int_equal(job_of(all, 3, 1), 0);
}

static void processes_without_ranks_join_any(void **state)
{
    (void)state;
    struct ss_job_member all[] = {member(1, 0, 0, 10, 90), member(2, 0, 0, 12, 90)};
    all[0].has_rank = all[1].has_rank = false;
    assert_int_equal(ss_jobs_assign(all, 2), 1);
    assert_int_equal(ss_jobs_assign(all, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_one_world_are_one_job),
        cmocka_unit_test(another_world_size_is_another_job),
        cmocka_unit_test(a_rank_is_in_a_job_once),
        cmocka_unit_test(a_copy_is_no_job),
        cmocka_unit_test(processes_without_ranks_join_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
