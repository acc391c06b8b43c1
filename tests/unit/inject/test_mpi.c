/* SPDX-License-Identifier: Apache-2.0 */
/* Groups and requests of MPI: names that all ranks find for themselves, events that end once. The
 * files are the library's, which exports none of this; events are counted here, not written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "../../../src/inject/mpi/groups.c"   // NOLINT(bugprone-suspicious-include): see above
#include "../../../src/inject/mpi/requests.c" // NOLINT(bugprone-suspicious-include): see above

/* --- what the files call ---------------------------------------------------------------------- */

enum { MOST_NAMES = 64, MOST_EVENTS = 4096 };

static char texts[MOST_NAMES][256];
static uint32_t text_count = 1;

uint32_t ss_define_name(const char *text, size_t length)
{
    assert_true(text_count < MOST_NAMES && length < sizeof *texts);
    memcpy(texts[text_count], text, length);
    return text_count++;
}

void *ss_process_wiped_memory(size_t bytes)
{
    static _Alignas(16) char memory[1 << 16]; /* never freed, as there */
    static size_t used;
    used += (bytes + 15) / 16 * 16;
    assert_true(used <= sizeof memory);
    return memory + used - (bytes + 15) / 16 * 16;
}

static uint64_t begun;
static _Atomic int ends[MOST_EVENTS];

uint64_t ss_mpi_begin(const struct ss_mpi_call *call)
{
    (void)call;
    return ++begun;
}

void ss_mpi_end(uint64_t id)
{
    assert_true(id < MOST_EVENTS);
    atomic_fetch_add(&ends[id], id != 0);
}

static int ended(uint64_t id)
{
    return atomic_load(&ends[id]);
}

/* --- groups ----------------------------------------------------------------------------------- */

static struct ss_mpi_group *add_ranks(uint64_t key, const int *ranks, uint32_t size, bool is_world)
{
    assert_non_null(ss_mpi_lock_ranks(size));
    struct ss_mpi_group *group = ss_mpi_add_group(key, ranks, size, is_world);
    ss_mpi_unlock_ranks();
    return group;
}

static const char *name_in(const struct ss_mpi_group *group)
{
    return texts[group->name];
}

static void test_groups_are_named_after_their_ranks(void **state)
{
    (void)state;
    const int world[] = {0, 1, 2, 3, 4, 5, 6, 7}, even[] = {0, 2, 4, 6}, pair[] = {3, 1},
              mixed[] = {0, 1, 2, 7, 4};
    struct ss_mpi_group *all = add_ranks(100, world, 8, true);
    assert_string_equal(name_in(all), "world");
    assert_string_equal(name_in(add_ranks(101, world, 4, false)), "0-3");
    assert_string_equal(name_in(add_ranks(102, even, 4, false)), "0-6/2");
    assert_string_equal(name_in(add_ranks(103, pair, 2, false)), "3,1");
    struct ss_mpi_group *listed = add_ranks(104, mixed, 5, false);
    assert_string_equal(name_in(listed), "0-2,7,4");
    assert_string_equal(name_in(add_ranks(105, world, 8, false)), "world #2");
    assert_int_equal(ss_mpi_world_rank(listed, 3), 7);
    assert_int_equal(ss_mpi_world_rank(ss_mpi_find_group(102), 3), 6);
    assert_int_equal(ss_mpi_world_rank(listed, 5), SS_MPI_NO_RANK);
    assert_int_equal(ss_mpi_world_rank(listed, -2), SS_MPI_NO_RANK); /* MPI_ANY_SOURCE, … */
    assert_ptr_equal(add_ranks(100, world, 8, true), all);
}

static void test_a_freed_communicator_leaves_its_numbers_to_the_next(void **state)
{
    (void)state;
    const int ranks[] = {1, 2, 3};
    struct ss_mpi_group *first = add_ranks(200, ranks, 3, false);
    struct ss_mpi_group *second = add_ranks(201, ranks, 3, false);
    assert_string_equal(name_in(second), "1-3 #2");
    atomic_store(&first->collectives, 7);
    ss_mpi_remove_group(200);
    assert_null(ss_mpi_find_group(200));
    assert_ptr_equal(add_ranks(202, ranks, 3, false), first);
    assert_int_equal(atomic_load(&first->collectives), 7);
    uint32_t names = text_count;
    for (uint64_t i = 0; i < 3ULL * SLOTS; i++) { /* in a loop of the program's */
        ss_mpi_remove_group(202 + i);
        assert_ptr_equal(add_ranks(203 + i, ranks, 3, false), first);
    }
    assert_int_equal(text_count, names);
}

static void test_a_group_without_a_name(void **state)
{
    (void)state;
    struct ss_mpi_group *group = add_ranks(300, NULL, 2, false);
    assert_int_equal(ss_mpi_group_size(group), 0);
    assert_int_equal(ss_mpi_world_rank(group, 0), SS_MPI_NO_RANK);
    assert_ptr_equal(add_ranks(301, NULL, 2, false), group);
    assert_int_equal(ss_mpi_group_size(NULL), 0);
}

/* Longer than a name: a number that depends on all ranks stands for them. */
static void test_a_group_of_many_scattered_ranks(void **state)
{
    (void)state;
    int ranks[200];
    for (int i = 0; i < 200; i++) {
        ranks[i] = i * i;
    }
    struct ss_mpi_group *one = add_ranks(400, ranks, 200, false);
    assert_memory_equal(name_in(one), "200 ranks ", 10);
    ranks[199]++;
    assert_string_not_equal(name_in(add_ranks(401, ranks, 200, false)), name_in(one));
}

/* --- requests --------------------------------------------------------------------------------- */

static void wait_for(uint64_t key)
{
    struct ss_mpi_claims claims = {0, 0};
    ss_mpi_claim(&claims, key, 0);
    ss_mpi_complete(&claims, SS_MPI_ALL);
    ss_mpi_release(&claims);
}

static void test_an_event_ends_once(void **state)
{
    (void)state;
    uint64_t id = ss_mpi_begin(NULL);
    ss_mpi_put_request(500, id);
    wait_for(500);
    wait_for(500);
    assert_int_equal(ended(id), 1);
    ss_mpi_put_request(500, 0); /* not recorded */
    wait_for(500);
}

static void test_what_is_not_complete_is_waited_for_again(void **state)
{
    (void)state;
    uint64_t ids[4];
    struct ss_mpi_claims claims = {0, 0};
    for (uint32_t i = 0; i < 4; i++) {
        ids[i] = ss_mpi_begin(NULL);
        ss_mpi_put_request(600 + i, ids[i]);
        ss_mpi_claim(&claims, 600 + i, i);
    }
    ss_mpi_complete(&claims, 3);
    ss_mpi_complete(&claims, 1);
    ss_mpi_release(&claims);
    assert_int_equal(ended(ids[0]) + ended(ids[2]), 0);
    assert_int_equal(ended(ids[1]) + ended(ids[3]), 2);
    wait_for(600);
    ss_mpi_free_request(602);
    assert_int_equal(ended(ids[0]) + ended(ids[2]), 2);
}

static void test_a_persistent_request_starts_again_and_again(void **state)
{
    (void)state;
    struct ss_mpi_call call = {.bytes = 8};
    ss_mpi_put_persistent(700, &call);
    wait_for(700); /* not started */
    for (int i = 0; i < 3; i++) {
        ss_mpi_start_request(700);
        uint64_t id = begun;
        wait_for(700);
        assert_int_equal(ended(id), 1);
    }
    ss_mpi_free_request(700);
    uint64_t before = begun;
    ss_mpi_start_request(700);
    assert_int_equal(begun, before);
}

/* MPICH gives all sends that were complete at once the same handle. */
static void test_many_requests_of_one_handle(void **state)
{
    (void)state;
    uint64_t first = begun + 1, lost_before = ss_mpi_lost_requests();
    for (int i = 0; i < 100; i++) {
        ss_mpi_put_request(800, ss_mpi_begin(NULL));
    }
    for (int i = 0; i < 100; i++) {
        wait_for(800);
    }
    for (uint64_t id = first; id <= begun; id++) {
        assert_int_equal(ended(id), 1);
    }
    assert_int_equal(ss_mpi_lost_requests(), lost_before);
}

enum { THREADS = 4, TURNS = 200 };

static void *use_requests(void *context)
{
    uint64_t first = *(const uint64_t *)context;
    for (uint64_t i = 0; i < TURNS; i++) {
        ss_mpi_put_request(first * 8 + 4096 + i % 8, first + i);
        wait_for(first * 8 + 4096 + i % 8);
    }
    return NULL;
}

static void test_threads_with_requests_of_their_own(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    uint64_t firsts[THREADS];
    for (int i = 0; i < THREADS; i++) {
        firsts[i] = 2000 + (uint64_t)i * TURNS;
        assert_int_equal(pthread_create(&threads[i], NULL, use_requests, &firsts[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (uint64_t id = 2000; id < 2000 + (uint64_t)THREADS * TURNS; id++) {
        assert_int_equal(ended(id), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_are_named_after_their_ranks),
        cmocka_unit_test(test_a_freed_communicator_leaves_its_numbers_to_the_next),
        cmocka_unit_test(test_a_group_without_a_name),
        cmocka_unit_test(test_a_group_of_many_scattered_ranks),
        cmocka_unit_test(test_an_event_ends_once),
        cmocka_unit_test(test_what_is_not_complete_is_waited_for_again),
        cmocka_unit_test(test_a_persistent_request_starts_again_and_again),
        cmocka_unit_test(test_many_requests_of_one_handle),
        cmocka_unit_test(test_threads_with_requests_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
