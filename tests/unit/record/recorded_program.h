/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of whole recordings in unit tests: a program, the options to record it by a clock that
 * moves with each reading, so that an hour takes no longer than its ticks, and memory that all
 * processes share. */
#ifndef SS_TESTS_RECORDED_PROGRAM_H
#define SS_TESTS_RECORDED_PROGRAM_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../manual_clock.h"
#include "record/run/options.h"
#include "trace/reader.h"

#define RECORDED_SECOND UINT64_C(1000000000)
#define RECORDED_HOUR (3600 * RECORDED_SECOND)

struct recorded_program {
    struct manual_clock clock;
    struct ss_record_options options;
    char path[256];
};

/* The program's stdin, and its other end, which the test holds; -1: closed. They are not in the
 * test's own frame: a failed assertion leaves that, and must close these too. */
static int recorded_stdin_read_fd = -1, recorded_stdin_fd = -1;

static inline void recorded_program_path(char *path, size_t size)
{
    snprintf(path, size, "%s/recorded-%d.pftrace", SS_TEST_BINARY_DIR, (int)getpid());
}

/* The clock moves by `step_ns` with each reading. A second is more than the recorder ever waits for
 * its next tick: it then waits for nothing. */
static inline void recorded_program_init(struct recorded_program *recorded, char *const *program,
                                         uint64_t step_ns)
{
    int ends[2] = {-1, -1};
    *recorded = (struct recorded_program){0};
    manual_clock_init(&recorded->clock, UINT64_C(5000000000000));
    recorded->clock.step_ns = step_ns;
    recorded_program_path(recorded->path, sizeof recorded->path);
    recorded->options = (struct ss_record_options){.program = program,
                                                   .path = recorded->path,
                                                   .output = recorded->path,
                                                   .keep_fd = -1,
                                                   .rate_hz = 100,
                                                   .no_torch = true,
                                                   .command_line = "program",
                                                   .clock = &recorded->clock.clock};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    recorded_stdin_read_fd = ends[0];
    recorded_stdin_fd = ends[1];
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* programs outlive their recorder */
}

static inline void recorded_program_close_stdin(void)
{
    if (recorded_stdin_fd >= 0) {
        close(recorded_stdin_fd);
        recorded_stdin_fd = -1;
    }
}

/* In the process that records: the program reads what the test writes to `recorded_stdin_fd`. */
static inline void recorded_program_enter(void)
{
    dup2(recorded_stdin_read_fd, STDIN_FILENO);
    recorded_program_close_stdin();
}

/* The teardown of each test: the next one would wait for a program that still reads its stdin. */
static inline int recorded_program_end(void **state)
{
    (void)state;
    char path[256];
    recorded_program_path(path, sizeof path);
    recorded_program_close_stdin();
    close(recorded_stdin_read_fd);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    unlink(path);
    return 0;
}

static inline void *recorded_share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

#endif
