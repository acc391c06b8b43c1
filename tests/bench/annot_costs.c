/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What annotations cost, in ns, the best of several rounds, the loop taken off; tab-separated rows
 * as tests/bench/run wants them. The program is its own recorder: rings in overwrite mode for what
 * writing costs, full rings for what reading costs.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "annot/stamp.h"
#include "base/clock.h"
#include "fakes/itt_part.h"
#include "ring/folder.h"
#include "source/ring_file.h"
#include <stepscope/stepscope.h>

enum { LOOPS = 200000, ROUNDS = 41 };

static struct ss_ring_file *file;
static struct ss_ring_consumer consumer;
static stepscope_name name, counter;

static void do_nothing(void)
{
    for (int i = 0; i < LOOPS; i++) {
        __asm__ volatile("" : : : "memory");
    }
}

static void read_clock_twice(void)
{
    for (int i = 0; i < LOOPS; i++) {
        __asm__ volatile("" : : "r"(ss_stamp_now()) : "memory");
        __asm__ volatile("" : : "r"(ss_stamp_now()) : "memory");
    }
}

static void pair_inline(void)
{
    for (int i = 0; i < LOOPS; i++) {
        stepscope_push(0, name);
        __asm__ volatile("" : : : "memory");
        stepscope_pop(0);
    }
}

static void pair_in_library(void)
{
    const stepscope_runtime *runtime = stepscope_link_.runtime;
    for (int i = 0; i < LOOPS; i++) {
        runtime->push(0, name);
        runtime->pop(0);
    }
}

static void pair_of_scope(void)
{
    for (int i = 0; i < LOOPS; i++) {
        STEPSCOPE_RANGE("scope");
    }
}

static void pair_with_payload(void)
{
    for (int i = 0; i < LOOPS; i++) {
        stepscope_push_value(0, name, STEPSCOPE_UINT, (uint64_t)i);
        stepscope_pop(0);
    }
}

static void count(void)
{
    for (int i = 0; i < LOOPS; i++) {
        stepscope_count_i(counter, i);
    }
}

/* --- ITT: what its macros do ------------------------------------------------------------------ */

static struct itt_part itt;
static struct ss_itt_domain *itt_domain;
static struct ss_itt_string *itt_string, *itt_format;
static uint64_t itt_calls;

static void itt_count_begin(ss_itt_in_domain domain, struct ss_itt_id id, struct ss_itt_id parent,
                            ss_itt_in_string string)
{
    (void)domain;
    (void)id;
    (void)parent;
    (void)string;
    itt_calls++;
}

static void itt_count_end(ss_itt_in_domain domain)
{
    (void)domain;
    itt_calls++;
}

static void pair_of_itt(void)
{
    static const struct ss_itt_id none;
    for (int i = 0; i < LOOPS; i++) {
        if (itt_domain->flags != 0 && ITT(&itt, task_begin) != NULL) {
            ITT(&itt, task_begin)(itt_domain, none, none, itt_string);
        }
        __asm__ volatile("" : : : "memory");
        if (itt_domain->flags != 0 && ITT(&itt, task_end) != NULL) {
            ITT(&itt, task_end)(itt_domain);
        }
    }
}

static void count_of_itt(void)
{
    for (int i = 0; i < LOOPS; i++) {
        ITT(&itt, counter_inc)(&itt.early_counter);
    }
}

/* As oneDNN describes a primitive. */
static void describe_to_itt(void)
{
    static const char text[] =
        "cpu,convolution,jit:avx512_core,forward_training,src:f32:a:blocked:abcd::f0 "
        "wei:f32:a:blocked:Acdb16a::f0 bia:f32:a:blocked:a::f0 dst:f32:a:blocked:aBcd16b::f0,"
        "attr-scratchpad:user,alg:convolution_direct,mb8_ic3oc16_ih32oh30kh3sh1dh0ph0_iw32ow30";
    for (int i = 0; i < LOOPS; i++) {
        ITT(&itt, formatted_metadata_add)(itt_domain, itt_format, text);
    }
}

void __itt_api_init(struct ss_itt_global *global, int groups);

static void connect_itt(void)
{
    __itt_api_init(&itt.global, -1);
    itt_domain = ITT(&itt, domain_create)("bench");
    itt_string = ITT(&itt, string_handle_create)("task");
    itt_format = ITT(&itt, string_handle_create)("%s");
}

static double once(void (*work)(void))
{
    uint64_t begin = ss_clock_monotonic_ns();
    work();
    return (double)(ss_clock_monotonic_ns() - begin) / LOOPS;
}

static double best(void (*work)(void))
{
    double least = 1e9, empty = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        double nothing = once(do_nothing), with = once(work);
        empty = nothing < empty ? nothing : empty;
        least = with < least ? with : least;
    }
    return least - empty;
}

static int open_own_ring(void)
{
    char place[SS_RING_PATH_BYTES], path[1024];
    DIR *entries = ss_ring_folder_user(place) ? opendir(place) : NULL;
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        pid_t pid;
        uint64_t start;
        snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
        if (ss_ring_file_parse_name(entry->d_name, &pid, &start) && pid == getpid() &&
            ss_ring_file_open(path, &file, NULL) == SS_OK) {
            struct ss_ring_memory memory = ss_ring_file_memory(file);
            closedir(entries);
            return ss_ring_consumer_open(&memory, &consumer, NULL) == SS_OK;
        }
    }
    return 0;
}

static void start(enum ss_ring_mode mode)
{
    struct ss_ring_request request = {.gate = SS_RING_GATE_ALL,
                                      .mode = mode,
                                      .recorder_pid = getpid(),
                                      .now_ns = ss_clock_monotonic_ns()};
    ss_ring_consumer_start(&consumer, &request);
    atomic_store(&consumer.header->heartbeat_timeout_ms, 600000);
}

/* CPU time to take and check a record. */
static double drain(void (*fill)(void), size_t *slots)
{
    static struct ss_ring_record records[256];
    double least = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        fill();
        ss_ring_consumer_refresh(&consumer);
        uint64_t begin = ss_clock_thread_cpu_ns();
        size_t got, all = 0;
        uint64_t tail = consumer.lanes.data[0].tail;
        while ((got = ss_ring_consumer_read(&consumer, 0, records, 256, false)) > 0) {
            all += got;
        }
        double each = (double)(ss_clock_thread_cpu_ns() - begin) / (double)(all > 0 ? all : 1);
        if (all > 0 && each < least) {
            least = each;
            *slots = (consumer.lanes.data[0].tail - tail) * 16 / all;
        }
    }
    return least;
}

int main(void)
{
    name = stepscope_intern("bench", 5);
    counter = stepscope_counter("bench counter", "count", STEPSCOPE_GAUGE);
    ss_stamp_choose_clock();
    if (!open_own_ring()) {
        fprintf(stderr, "annot_costs: this program has no ring file\n");
        return 1;
    }
    double clocks = best(read_clock_twice);
    printf("annot_off_inline\t%.2f\n", best(pair_inline));
    printf("annot_off_library\t%.2f\n", best(pair_in_library));
    itt_part_init(&itt);
    itt_domain = &itt.early_domain;
    printf("itt_alone_ns\t%.2f\n", best(pair_of_itt));
    itt.pointers[ITT_task_begin] = (void *)itt_count_begin;
    itt.pointers[ITT_task_end] = (void *)itt_count_end;
    printf("itt_counted_ns\t%.2f\n", best(pair_of_itt));
    connect_itt();
    printf("itt_off\t%.2f\n", best(pair_of_itt));
    start(SS_RING_OVERWRITE);
    double pair = best(pair_inline);
    printf("annot_pair\t%.2f\ta pair takes %.2f ns, two clock reads %.2f\n", pair - 1.15 * clocks,
           pair, clocks);
    printf("annot_pair_scope_ns\t%.2f\n", best(pair_of_scope));
    printf("annot_pair_payload_ns\t%.2f\n", best(pair_with_payload));
    printf("annot_counter\t%.2f\n", best(count));
    printf("itt_pair\t%.2f\n", best(pair_of_itt));
    printf("itt_metadata_ns\t%.2f\n", best(describe_to_itt));
    printf("itt_counter_ns\t%.2f\n", best(count_of_itt));
    ss_ring_consumer_stop(&consumer);
    start(SS_RING_DROP_NEWEST);
    size_t bytes = 0;
    double each = drain(pair_inline, &bytes);
    printf("annot_drain\t%.2f\tpush and pop, %zu B each\n", each, bytes);
    each = drain(count, &bytes);
    printf("annot_drain_counter\t%.2f\tcounters, %zu B each\n", each, bytes);
    ss_ring_consumer_stop(&consumer);
    ss_ring_consumer_close(&consumer);
    ss_ring_file_close(file);
    return 0;
}
