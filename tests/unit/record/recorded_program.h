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
#include "record/options.h"
#include "trace/reader.h"

#define RECORDED_SECOND UINT64_C(1000000000)
#define RECORDED_HOUR (3600 * RECORDED_SECOND)

struct recorded_program {
    struct manual_clock clock;
    struct ss_record_options options;
    char path[256];
    int stdin_fd; /* the other end of the program's stdin; -1: closed */
    int stdin_read_fd;
};

/* The clock moves by `step_ns` with each reading. A second is more than the recorder ever waits for
 * its next tick: it then waits for nothing. */
static inline void recorded_program_init(struct recorded_program *recorded, char *const *program,
                                         uint64_t step_ns)
{
    int ends[2] = {-1, -1};
    *recorded = (struct recorded_program){0};
    manual_clock_init(&recorded->clock, UINT64_C(5000000000000));
    recorded->clock.step_ns = step_ns;
    snprintf(recorded->path, sizeof recorded->path, "%s/recorded-%d.pftrace", SS_TEST_BINARY_DIR,
             (int)getpid());
    recorded->options = (struct ss_record_options){.program = program,
                                                   .path = recorded->path,
                                                   .output = recorded->path,
                                                   .keep_fd = -1,
                                                   .rate_hz = 100,
                                                   .no_torch = true,
                                                   .command_line = "program",
                                                   .clock = &recorded->clock.clock};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    recorded->stdin_read_fd = ends[0];
    recorded->stdin_fd = ends[1];
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* programs outlive their recorder */
}

static inline void recorded_program_close_stdin(struct recorded_program *recorded)
{
    close(recorded->stdin_fd);
    recorded->stdin_fd = -1;
}

/* In the process that records: the program reads what the test writes to `stdin_fd`. */
static inline void recorded_program_enter(struct recorded_program *recorded)
{
    dup2(recorded->stdin_read_fd, STDIN_FILENO);
    recorded_program_close_stdin(recorded);
}

static inline void recorded_program_fini(struct recorded_program *recorded)
{
    if (recorded->stdin_fd >= 0) {
        recorded_program_close_stdin(recorded);
    }
    close(recorded->stdin_read_fd);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    unlink(recorded->path);
}

static inline void *recorded_share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

#endif
