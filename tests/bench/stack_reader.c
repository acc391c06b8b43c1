/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the main thread's Python stack of a process again and again, and judges what came out.
 *
 *     stack_reader PID MODE RATE_HZ SAMPLES
 *
 * MODE  walk      the way stepscope samples: one validated read, the process keeps running
 *       stopped   the same with the process stopped (ptrace): the truth to compare with
 *       perframe  one read per frame, no validation: what other samplers do
 *       floor     64 bytes and nothing else: what a system call costs here
 * RATE_HZ 0: without a pause, for the cost alone: nothing is judged. Else only samples count ahead
 * of which the process has run: on a busy machine it waits, and many reads of one stack are one
 * sample.
 *
 * Prints one line of JSON: results, cost, impossible callers where the program is
 * tests/workloads/flutter.py (by name and line, and by name alone), and how often each innermost
 * function was seen. A development tool: the only one that ever stops a process.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "platform/memory.h"
#include "source/python_locate.h"
#include "unwind/python_state.h"

enum mode { WALK, STOPPED, PERFRAME, FLOOR };
enum { FLUTTER_WIDTH = 4, FLUTTER_LEVELS = 6, MAX_LEAVES = 256, MAX_WAITING = 32 };

struct tally {
    uint64_t samples, ok, partial, lost, empty, retries, frames;
    uint64_t pairs, wrong_pairs, wrong_names, wrong_stacks, syscalls, cpu_ns, late;
    uint64_t moving, waiting;
    bool is_exact;
    struct {
        uint32_t frame;
        uint64_t count;
    } leaves[MAX_LEAVES];
    size_t leaf_count;
};

/* "f3_2": level 3, number 2. */
static bool parse_flutter(struct ss_strview name, unsigned *level, unsigned *number)
{
    if (name.length != 4 || name.data[0] != 'f' || name.data[2] != '_') {
        return false;
    }
    *level = (unsigned)(name.data[1] - '0');
    *number = (unsigned)(name.data[3] - '0');
    return *level < FLUTTER_LEVELS && *number < FLUTTER_WIDTH;
}

static bool is_stem(struct ss_strview name, unsigned *number)
{
    char text[8] = "";
    if (name.length < 2 || name.length > 3 || name.data[0] != 's') {
        return false;
    }
    memcpy(text, name.data + 1, name.length - 1);
    *number = (unsigned)atoi(text);
    return true;
}

/* Can `caller`, at the line `line` below its first, have called `callee`? */
static bool is_possible(const struct ss_python_frame *caller, int32_t line,
                        const struct ss_python_frame *callee)
{
    unsigned level, number, next_level, next_number;
    if (parse_flutter(caller->name, &level, &number)) {
        return parse_flutter(callee->name, &next_level, &next_number) && next_level == level + 1 &&
               line >= 1 && line <= 2 &&
               next_number == (2 * number + (unsigned)line - 1) % FLUTTER_WIDTH;
    }
    if (is_stem(caller->name, &number)) {
        if (is_stem(callee->name, &next_number)) {
            return next_number == number + 1 && line == 1;
        }
        return parse_flutter(callee->name, &next_level, &next_number) && next_level == 0 &&
               line == 4 + (int32_t)next_number;
    }
    return !parse_flutter(callee->name, &next_level, &next_number);
}

/* Judged by the names alone: from any line. */
static bool is_possible_somewhere(const struct ss_python_frame *caller,
                                  const struct ss_python_frame *callee)
{
    for (int32_t line = 0; line < 10; line++) {
        if (is_possible(caller, line, callee)) {
            return true;
        }
    }
    return false;
}

static void judge(const struct ss_python *python, const struct ss_python_stack *stack,
                  bool has_leaf, struct tally *tally)
{
    bool is_wrong = false;
    for (uint32_t i = 0; i + 1 < stack->depth; i++) {
        struct ss_python_frame caller, callee;
        ss_python_frame_get(python, stack->frames[i], &caller);
        ss_python_frame_get(python, stack->frames[i + 1], &callee);
        tally->pairs++;
        if (!is_possible(&caller, caller.line - caller.first_line, &callee)) {
            tally->wrong_pairs++;
            tally->wrong_names += !is_possible_somewhere(&caller, &callee);
            is_wrong = true;
        }
    }
    tally->wrong_stacks += is_wrong;
    tally->frames += stack->depth;
    if (!has_leaf || stack->depth == 0) {
        return;
    }
    uint32_t leaf = stack->frames[stack->depth - 1];
    for (size_t i = 0; i < tally->leaf_count; i++) {
        if (tally->leaves[i].frame == leaf) {
            tally->leaves[i].count++;
            return;
        }
    }
    if (tally->leaf_count < MAX_LEAVES) {
        tally->leaves[tally->leaf_count].frame = leaf;
        tally->leaves[tally->leaf_count++].count = 1;
    }
}

/* The pointer to the innermost frame, then one read per frame. */
static enum ss_python_result walk_per_frame(struct ss_python *python,
                                            const struct ss_python_thread *thread,
                                            struct ss_python_stack *stack)
{
    const struct ss_cpython_layout *layout = &python->layout;
    static uint32_t reversed[SS_PYTHON_MAX_DEPTH];
    uint64_t address = thread->tstate_address;
    int32_t offset = layout->tstate_frame;
    if (layout->tstate_cframe != SS_ABSENT) {
        if (!ss_memory_read(python->reader, address + (uint64_t)layout->tstate_cframe, &address,
                            sizeof address)) {
            return SS_PYTHON_LOST;
        }
        offset = layout->cframe_current_frame;
    } else if (layout->tstate_current_frame != SS_ABSENT) {
        offset = layout->tstate_current_frame;
    }
    if (!ss_memory_read(python->reader, address + (uint64_t)offset, &address, sizeof address)) {
        return SS_PYTHON_LOST;
    }
    uint32_t count = 0;
    for (int steps = 0; address != 0 && steps < SS_PYTHON_MAX_DEPTH; steps++) {
        uint8_t bytes[512];
        if (!ss_memory_read(python->reader, address, bytes, (size_t)layout->frame_size)) {
            return SS_PYTHON_LOST;
        }
        uint64_t instruction = layout->frame_instr != SS_ABSENT
                                   ? ss_word(bytes, layout->frame_instr)
                                   : (uint32_t)ss_word(bytes, layout->frame_lasti);
        uint64_t code = ss_word(bytes, layout->frame_code);
        code = layout->version >= 0x030e ? code & ~UINT64_C(7) : code;
        bool is_shim = layout->version >= 0x030c && bytes[layout->frame_owner] >= 3;
        uint32_t id = is_shim ? SS_FRAME_SHIM : ss_code_frame(&python->codes, code, instruction);
        if (id == SS_FRAME_NONE) {
            return SS_PYTHON_LOST;
        }
        if (id != SS_FRAME_SHIM) {
            reversed[count++] = id;
        }
        address = ss_word(bytes, layout->frame_previous);
    }
    for (uint32_t i = 0; i < count; i++) {
        python->frames[i] = reversed[count - 1 - i];
    }
    *stack = (struct ss_python_stack){.frames = python->frames, .depth = count};
    return count > 0 ? SS_PYTHON_OK : SS_PYTHON_EMPTY;
}

static enum ss_python_result take_one(struct ss_python *python, struct ss_python_thread *thread,
                                      enum mode mode, struct ss_python_stack *stack)
{
    if (mode == FLOOR) {
        uint8_t bytes[64];
        return ss_memory_read(python->reader, thread->tstate_address, bytes, sizeof bytes)
                   ? SS_PYTHON_EMPTY
                   : SS_PYTHON_LOST;
    }
    if (mode == PERFRAME) {
        return walk_per_frame(python, thread, stack);
    }
    if (mode == WALK) {
        return ss_python_walk_thread(python, thread, stack);
    }
    int status;
    if (ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) != 0 ||
        waitpid(thread->tid, &status, __WALL) < 0) {
        return SS_PYTHON_LOST;
    }
    enum ss_python_result result = ss_python_walk_thread(python, thread, stack);
    ptrace(PTRACE_CONT, thread->tid, NULL, NULL);
    return result;
}

/* 0 to 1; the same in every run. */
static double draw(void)
{
    static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / (double)(UINT64_C(1) << 53);
}

/* Waits for a moment within the next period, drawn anew each time: a program that repeats itself
 * must not stop at the same point of its loop each time. Periods that have passed are skipped.
 */
static void wait_for_tick(uint64_t *due_ns, uint64_t period_ns, struct tally *tally)
{
    if (period_ns == 0) {
        return;
    }
    *due_ns += period_ns;
    uint64_t now = ss_clock_monotonic_ns();
    if (now > *due_ns + 2 * period_ns) {
        tally->late++;
        *due_ns = now;
    }
    uint64_t until_ns = *due_ns + (uint64_t)(draw() * (double)period_ns);
    struct timespec until = {(time_t)(until_ns / 1000000000U), (long)(until_ns % 1000000000U)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

static double clock_cost_ns(void)
{
    enum { ROUNDS = 2000 };
    uint64_t sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t begin_ns = ss_clock_thread_cpu_ns();
        sum += ss_clock_thread_cpu_ns() - begin_ns;
    }
    return (double)sum / ROUNDS;
}

/* A counter of the CPU time of a thread that is exact at every moment, which its clock is not for
 * other processes; -1: not allowed here. */
static int open_cpu_counter(pid_t tid)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .exclude_kernel = 1};
    return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Without a counter every moment counts as one of its own. */
static uint64_t read_cpu_counter(int counter)
{
    static uint64_t moments;
    uint64_t run_ns = 0;
    return counter >= 0 && read(counter, &run_ns, sizeof run_ns) == sizeof run_ns ? run_ns
                                                                                  : ++moments;
}

static bool sample(struct ss_python *python, struct ss_memory_reader *reader,
                   struct ss_python_thread *thread, enum mode mode, double rate_hz,
                   uint64_t samples, struct tally *tally)
{
    uint64_t period_ns = rate_hz > 0 ? (uint64_t)(1e9 / rate_hz) : 0;
    uint64_t due_ns = ss_clock_monotonic_ns();
    for (int warm = 0; warm < 200; warm++) {
        struct ss_python_stack stack;
        take_one(python, thread, mode, &stack);
    }
    uint64_t syscalls = reader->syscalls;
    int counter = period_ns > 0 ? open_cpu_counter(thread->tid) : -1;
    bool is_paced = period_ns > 0;
    tally->is_exact = counter >= 0;
    uint64_t loop_begin_ns = ss_clock_thread_cpu_ns(), counted_ns = 0;
    while (tally->samples < samples) {
        wait_for_tick(&due_ns, period_ns, tally);
        struct ss_python_stack stack = {0};
        uint64_t ran_ns = is_paced ? read_cpu_counter(counter) : 0;
        /* A process that hardly gets to run must not hold this up for ever. */
        if (is_paced && ran_ns == counted_ns && tally->waiting < MAX_WAITING * samples) {
            tally->waiting++;
            if (kill((pid_t)reader->pid, 0) != 0) {
                return false;
            }
            continue;
        }
        counted_ns = ran_ns;
        uint64_t begin_ns = is_paced ? ss_clock_thread_cpu_ns() : 0;
        enum ss_python_result result = take_one(python, thread, mode, &stack);
        tally->cpu_ns += is_paced ? ss_clock_thread_cpu_ns() - begin_ns : 0;
        tally->moving += counter >= 0 && read_cpu_counter(counter) != ran_ns;
        tally->samples++;
        tally->retries += stack.retries;
        tally->ok += result == SS_PYTHON_OK;
        tally->partial += result == SS_PYTHON_PARTIAL;
        tally->lost += result == SS_PYTHON_LOST;
        tally->empty += result == SS_PYTHON_EMPTY;
        if (!is_paced) {
            tally->frames += stack.depth;
        } else if (result == SS_PYTHON_OK || result == SS_PYTHON_PARTIAL) {
            judge(python, &stack, result == SS_PYTHON_OK, tally);
        }
        if (result == SS_PYTHON_LOST && kill((pid_t)reader->pid, 0) != 0) {
            return false;
        }
    }
    tally->syscalls = reader->syscalls - syscalls;
    if (counter >= 0) {
        close(counter);
    }
    if (is_paced) { /* what the clock itself costs is not the walk's */
        tally->cpu_ns -= (uint64_t)(clock_cost_ns() * (double)samples);
    } else {
        tally->cpu_ns = ss_clock_thread_cpu_ns() - loop_begin_ns;
    }
    return true;
}

static void print_json(const struct ss_python *python, const struct tally *tally)
{
    double samples = (double)tally->samples;
    printf("{\"python\": \"%s\", \"samples\": %llu, \"ok\": %llu, \"partial\": %llu, "
           "\"lost\": %llu, \"empty\": %llu, \"late\": %llu, \"waiting\": %llu, "
           "\"moving\": %llu, \"exact\": %s, \"retries\": %.4f, ",
           ss_python_version(python), (unsigned long long)tally->samples,
           (unsigned long long)tally->ok, (unsigned long long)tally->partial,
           (unsigned long long)tally->lost, (unsigned long long)tally->empty,
           (unsigned long long)tally->late, (unsigned long long)tally->waiting,
           (unsigned long long)tally->moving, tally->is_exact ? "true" : "false",
           (double)tally->retries / samples);
    printf("\"depth\": %.2f, \"cpu_us\": %.3f, \"syscalls\": %.4f, \"pairs\": %llu, "
           "\"wrong_pairs\": %llu, \"wrong_names\": %llu, \"wrong_stacks\": %llu, \"leaves\": {",
           (double)tally->frames / samples, (double)tally->cpu_ns / samples / 1000,
           (double)tally->syscalls / samples, (unsigned long long)tally->pairs,
           (unsigned long long)tally->wrong_pairs, (unsigned long long)tally->wrong_names,
           (unsigned long long)tally->wrong_stacks);
    for (size_t i = 0; i < tally->leaf_count; i++) {
        struct ss_python_frame frame;
        ss_python_frame_get(python, tally->leaves[i].frame, &frame);
        printf("%s\"%.*s:%d\": %llu", i > 0 ? ", " : "", (int)frame.function.length,
               frame.function.data, frame.line, (unsigned long long)tally->leaves[i].count);
    }
    printf("}}\n");
}

static int run(pid_t pid, enum mode mode, double rate_hz, uint64_t samples)
{
    struct ss_memory_reader *reader = NULL;
    struct ss_python *python = NULL;
    struct ss_python_location location;
    struct ss_error err;
    static struct tally tally;
    if (ss_memory_open(pid, &reader, &err) != SS_OK ||
        ss_python_locate(pid, &location, &err) != SS_OK ||
        ss_python_open(reader, &location, NULL, &python, &err) != SS_OK) {
        fprintf(stderr, "stack_reader: %s\n", err.message);
        ss_memory_close(reader);
        return 4;
    }
    struct ss_python_thread *thread = ss_python_thread_at(python, 0);
    if (mode == STOPPED && ptrace(PTRACE_SEIZE, thread->tid, NULL, NULL) != 0) {
        perror("stack_reader: PTRACE_SEIZE");
        return 4;
    }
    bool ended_well = sample(python, reader, thread, mode, rate_hz, samples, &tally);
    if (ended_well) {
        print_json(python, &tally);
    }
    ss_python_close(python);
    ss_memory_close(reader);
    return ended_well ? 0 : 4;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"walk", "stopped", "perframe", "floor"};
    for (int mode = 0; argc == 5 && mode <= FLOOR; mode++) {
        if (strcmp(argv[2], modes[mode]) == 0) {
            return run((pid_t)atoi(argv[1]), (enum mode)mode, atof(argv[3]),
                       strtoull(argv[4], NULL, 10));
        }
    }
    fprintf(stderr, "usage: stack_reader PID walk|stopped|perframe|floor RATE_HZ SAMPLES\n");
    return 2;
}
