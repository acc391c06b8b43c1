/* SPDX-License-Identifier: Apache-2.0 */
/* A run of several ranks: its files, and the sum that one recorder prints for all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../manual_clock.h"
#include "record/run/run_folder.h"

enum { WORLD = 12, SECOND = 1000000000, MINUTES = 3600 };

struct fixture {
    char parent[64], folder[96];
    struct ss_rank_selection selection;
    struct manual_clock clock;
    int held; /* a file that a recorder holds; -1: none */
};

static void begin(struct fixture *fixture, const char *selection)
{
    memset(fixture, 0, sizeof *fixture);
    snprintf(fixture->parent, sizeof fixture->parent, "/tmp/stepscope-test-XXXXXX");
    assert_non_null(mkdtemp(fixture->parent));
    snprintf(fixture->folder, sizeof fixture->folder, "%s/run.stepscope", fixture->parent);
    assert_int_equal(ss_rank_selection_parse(selection, &fixture->selection, NULL), SS_OK);
    manual_clock_init(&fixture->clock, UINT64_C(5) * SECOND);
    fixture->clock.step_ns = SECOND; /* with each reading: 20 s take 20 polls */
    fixture->held = -1;
}

static void end(struct fixture *fixture)
{
    char command[128];
    if (fixture->held >= 0) {
        close(fixture->held);
    }
    snprintf(command, sizeof command, "rm -rf %s", fixture->parent);
    assert_int_equal(system(command), 0);
}

static struct ss_rank_facts facts_of(uint32_t rank, uint32_t world)
{
    struct ss_rank_facts facts = {
        .launcher = SS_LAUNCHER_TORCHRUN, .variable = SS_ENV_COUNT, .run_id = "run 7"};
    facts.has[SS_RANK] = true;
    facts.numbers[SS_RANK] = rank;
    facts.has[SS_WORLD_SIZE] = world > 0;
    facts.numbers[SS_WORLD_SIZE] = world;
    return facts;
}

static void open_run(const struct fixture *fixture, struct ss_rank_facts facts,
                     struct ss_run_folder *run)
{
    static char *program[] = {(char *)"train.py", NULL};
    ss_run_folder_init(run, fixture->folder, program, &facts, "", &fixture->selection);
}

/* The recorder of a rank begins: its file exists from then on. */
static void start(const struct fixture *fixture, struct ss_run_folder *run, uint32_t rank)
{
    struct ss_error err = {0};
    open_run(fixture, facts_of(rank, WORLD), run);
    if (ss_run_folder_create(run, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    close(open(run->trace, O_WRONLY | O_CREAT, 0600));
}

static void finish(const struct fixture *fixture, uint32_t rank, int program_status)
{
    struct ss_run_folder run;
    struct ss_error err = {0};
    start(fixture, &run, rank);
    struct ss_record_result result = {.program_ended = true,
                                      .program_status = program_status,
                                      .figures = {.samples = 100,
                                                  .lost = 10,
                                                  .partial = 7,
                                                  .late = 3,
                                                  .bytes_written = 1000,
                                                  .start_ns = SECOND,
                                                  .end_ns = (2 + rank) * UINT64_C(1000000000)}};
    if (ss_run_folder_finish(&run, &result, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    ss_run_folder_fini(&run);
}

static struct ss_run_summary sum(struct fixture *fixture, double patience_s)
{
    struct ss_run_folder run;
    struct ss_run_summary summary;
    open_run(fixture, facts_of(0, WORLD), &run);
    ss_run_folder_sum(&run, &fixture->clock.clock, patience_s, &summary);
    ss_run_folder_fini(&run);
    return summary;
}

/* How long the sum has waited, in readings of the clock. */
static uint64_t waited_s(const struct fixture *fixture)
{
    return fixture->clock.now.monotonic_ns / SECOND - 5;
}

static void a_complete_run_adds_up(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "all");
    for (uint32_t rank = 0; rank < WORLD; rank++) {
        finish(&fixture, rank, 0);
    }
    struct ss_run_summary summary = sum(&fixture, MINUTES);
    assert_int_equal(summary.world_size, WORLD);
    assert_int_equal(summary.expected, WORLD);
    assert_int_equal(summary.finished, WORLD);
    assert_int_equal(summary.hosts, 1);
    assert_int_equal(summary.samples, 100 * WORLD);
    assert_int_equal(summary.lost, 10 * WORLD);
    assert_int_equal(summary.partial, 7 * WORLD);
    assert_int_equal(summary.late, 3 * WORLD);
    assert_int_equal(summary.bytes, 1000 * WORLD);
    assert_true(summary.seconds > 11.99 && summary.seconds < 12.01); /* the longest */
    assert_int_equal(summary.failed_count, 0);
    assert_int_equal(summary.missing_count, 0);
    assert_in_range(waited_s(&fixture), 1, 2);
    end(&fixture);
}

static void programs_that_failed_are_named(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "all");
    for (uint32_t rank = 0; rank < WORLD; rank++) {
        finish(&fixture, rank, rank == 3 ? SIGKILL : rank == 5 ? 2 << 8 : 0);
    }
    struct ss_run_summary summary = sum(&fixture, MINUTES);
    assert_int_equal(summary.failed_count, 2);
    assert_string_equal(summary.failed, "3 (Killed), 5 (status 2)");
    end(&fixture);
    begin(&fixture, "all");
    for (uint32_t rank = 0; rank < WORLD; rank++) {
        finish(&fixture, rank, 1 << 8);
    }
    summary = sum(&fixture, MINUTES);
    assert_int_equal(summary.failed_count, WORLD);
    assert_non_null(strstr(summary.failed, "7 (status 1), …"));
    assert_null(strstr(summary.failed, "8 (status 1)"));
    end(&fixture);
}

/* A rank without a file may be about to start: two seconds, unless another one still records. */
static void ranks_without_a_word_are_missing(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_run_folder run;
    begin(&fixture, "all");
    for (uint32_t rank = 0; rank < WORLD; rank++) {
        if (rank != 4 && rank != 6) {
            finish(&fixture, rank, 0);
        }
    }
    start(&fixture, &run, 6); /* its recorder was killed */
    ss_run_folder_fini(&run);
    struct ss_run_summary summary = sum(&fixture, MINUTES);
    assert_int_equal(summary.finished, WORLD - 2);
    assert_int_equal(summary.missing_count, 2);
    assert_string_equal(summary.missing, "4, 6");
    assert_in_range(waited_s(&fixture), 2, 5);
    end(&fixture);
}

static void a_rank_that_records_is_waited_for(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_run_folder run;
    begin(&fixture, "all");
    for (uint32_t rank = 1; rank < WORLD; rank++) {
        finish(&fixture, rank, 0);
    }
    start(&fixture, &run, 0);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    fixture.held = open(run.trace, O_RDWR);
    assert_int_equal(fcntl(fixture.held, F_OFD_SETLK, &lock), 0);
    ss_run_folder_fini(&run);
    struct ss_run_summary summary = sum(&fixture, 20);
    assert_in_range(waited_s(&fixture), 20, 23);
    assert_string_equal(summary.missing, "0");
    end(&fixture);
}

static void what_an_earlier_run_left_does_not_count(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_run_folder run;
    struct ss_run_summary summary;
    begin(&fixture, "all");
    for (uint32_t rank = 0; rank < WORLD; rank++) {
        finish(&fixture, rank, 0);
    }
    struct ss_rank_facts facts = facts_of(0, WORLD);
    snprintf(facts.run_id, sizeof facts.run_id, "run 8");
    open_run(&fixture, facts, &run);
    ss_run_folder_sum(&run, &fixture.clock.clock, MINUTES, &summary);
    ss_run_folder_fini(&run);
    assert_int_equal(summary.finished, 0);
    assert_int_equal(summary.missing_count, WORLD);
    assert_string_equal(summary.missing, "0, 1, 2, 3, 4, 5, 6, 7, …");
    end(&fixture);
}

static void only_selected_ranks_are_expected(void **state)
{
    (void)state;
    static const struct {
        const char *selection;
        uint32_t most, expected;
    } cases[] = {{"all", 0, WORLD}, {"2-4", 0, 3}, {"2-4", 2, 2}, {"all", 5, 5}, {"every:4", 0, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        begin(&fixture, cases[i].selection);
        fixture.selection.most = cases[i].most;
        for (uint32_t rank = 0; rank < WORLD; rank++) {
            finish(&fixture, rank, 0);
        }
        struct ss_run_summary summary = sum(&fixture, MINUTES);
        assert_int_equal(summary.expected, cases[i].expected);
        assert_int_equal(summary.finished, cases[i].expected);
        end(&fixture);
    }
}

/* Where nodes decide, the ranks with a file are those of the run. */
static void of_local_ranks_the_files_are_expected(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "local0");
    finish(&fixture, 0, 0);
    finish(&fixture, 8, 0);
    struct ss_run_summary summary = sum(&fixture, MINUTES);
    assert_int_equal(summary.expected, 2);
    assert_int_equal(summary.finished, 2);
    end(&fixture);
}

static void a_run_of_unknown_size_has_its_own_rank(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_run_folder run;
    struct ss_run_summary summary;
    begin(&fixture, "all");
    finish(&fixture, 3, 0);
    open_run(&fixture, facts_of(3, 0), &run);
    ss_run_folder_sum(&run, &fixture.clock.clock, MINUTES, &summary);
    ss_run_folder_fini(&run);
    assert_int_equal(summary.world_size, 0);
    assert_int_equal(summary.expected, 0);
    assert_int_equal(summary.finished, 1);
    end(&fixture);
}

/* --- files ------------------------------------------------------------------------------------ */

static bool exists(const struct fixture *fixture, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", fixture->folder, name);
    return access(path, F_OK) == 0;
}

static void names_have_the_rank_its_folder_and_its_restart(void **state)
{
    (void)state;
    static const struct {
        uint32_t rank, world, restart;
        const char *name;
    } cases[] = {{7, 12, 0, "ranks/r00007.pftrace"},
                 {7, 1000, 0, "ranks/r00007.pftrace"},
                 {7, 1001, 0, "ranks/000/r00007.pftrace"},
                 {2042, 4096, 0, "ranks/002/r02042.pftrace"},
                 {7, 12, 2, "ranks/r00007-a2.pftrace"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        struct ss_run_folder run;
        begin(&fixture, "all");
        struct ss_rank_facts facts = facts_of(cases[i].rank, cases[i].world);
        facts.has[SS_RESTART] = true;
        facts.numbers[SS_RESTART] = cases[i].restart;
        open_run(&fixture, facts, &run);
        assert_string_equal(run.trace + strlen(fixture.folder) + 1, cases[i].name);
        ss_run_folder_fini(&run);
        end(&fixture);
    }
}

/* One rank of each node writes it; of selected ranks, which may be none of these, each does. */
static void the_manifest_is_written_by_few(void **state)
{
    (void)state;
    static const struct {
        const char *selection;
        bool has_local;
        uint32_t local;
        bool is_written;
    } cases[] = {{"all", false, 0, true},
                 {"all", true, 0, true},
                 {"all", true, 1, false},
                 {"3-5", true, 1, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        struct ss_run_folder run;
        begin(&fixture, cases[i].selection);
        struct ss_rank_facts facts = facts_of(4, WORLD);
        facts.has[SS_LOCAL_RANK] = cases[i].has_local;
        facts.numbers[SS_LOCAL_RANK] = cases[i].local;
        open_run(&fixture, facts, &run);
        assert_int_equal(ss_run_folder_create(&run, NULL), SS_OK);
        assert_int_equal(exists(&fixture, "run.json"), cases[i].is_written);
        /* At its end each makes up for one that was killed. */
        struct ss_record_result result = {0};
        assert_int_equal(ss_run_folder_finish(&run, &result, NULL), SS_OK);
        assert_true(exists(&fixture, "run.json"));
        assert_true(exists(&fixture, "ranks/r00004.json"));
        assert_int_equal(ss_run_folder_create(&run, NULL), SS_OK); /* tried again */
        assert_false(exists(&fixture, "ranks/r00004.json"));
        ss_run_folder_fini(&run);
        end(&fixture);
    }
}

static void a_run_is_named_by_its_program_and_its_id(void **state)
{
    (void)state;
    static const struct {
        const char *id, *name;
    } cases[] = {
        {"77.0", "train-77.0"},
        {"a b/c", "train-a_b_c"},
        {"0123abcd-0123-4567-89ab-0123456789ab", "train-0123abcd"},
        {"0123abcd-0123-4567-89ab-0123456789abc", "train-0123abcd-0123-4567-89ab-0123456789abc"},
        {"", "train"}};
    static char *program[] = {(char *)"train", NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ss_rank_facts facts = facts_of(0, 0);
        struct ss_strbuf name;
        snprintf(facts.run_id, sizeof facts.run_id, "%s", cases[i].id);
        ss_strbuf_init(&name, 256);
        ss_run_name(program, &facts, &name);
        assert_string_equal(name.data, cases[i].name);
        ss_strbuf_fini(&name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_complete_run_adds_up),
        cmocka_unit_test(programs_that_failed_are_named),
        cmocka_unit_test(ranks_without_a_word_are_missing),
        cmocka_unit_test(a_rank_that_records_is_waited_for),
        cmocka_unit_test(what_an_earlier_run_left_does_not_count),
        cmocka_unit_test(only_selected_ranks_are_expected),
        cmocka_unit_test(of_local_ranks_the_files_are_expected),
        cmocka_unit_test(a_run_of_unknown_size_has_its_own_rank),
        cmocka_unit_test(names_have_the_rank_its_folder_and_its_restart),
        cmocka_unit_test(the_manifest_is_written_by_few),
        cmocka_unit_test(a_run_is_named_by_its_program_and_its_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
