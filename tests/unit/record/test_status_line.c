/* SPDX-License-Identifier: Apache-2.0 */
/* The line on a terminal, which is a pseudo-terminal of a child process here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/terminal.h"
#include "record/run/status_line.h"

enum { FIRST_S = 100 }; /* since the start of the clock */

static uint64_t seconds(double count)
{
    return (uint64_t)((FIRST_S + count) * 1e9);
}

static const struct ss_record_figures figures = {
    .start_ns = (uint64_t)FIRST_S * 1000000000,
    .done = 12500,
    .samples = 9876,
    .ok = 9800,
    .partial = 150,
    .lost = 50,
};

static void draw_once(void)
{
    ss_status_line_draw(&figures, seconds(125));
}

/* It is due again half a second after it was drawn. */
static void draw_when_due(void)
{
    ss_status_line_draw(&figures, seconds(1));
    ss_status_line_draw(&figures, seconds(1.499));
    ss_status_line_draw(&figures, seconds(1.5));
}

static void draw_the_begin(void)
{
    struct ss_record_figures none = {.start_ns = figures.start_ns};
    ss_status_line_draw(&none, seconds(0));
}

static void draw_and_clear_twice(void)
{
    ss_status_line_draw(&figures, seconds(125));
    ss_status_line_clear();
    ss_status_line_clear();
}

static void clear_alone(void)
{
    ss_status_line_clear();
}

static void draw_in_the_background(void)
{
    if (setpgid(0, 0) == 0) { /* the terminal belongs to the parent's group */
        draw_once();
        ss_status_line_clear();
    }
}

/* What `work` writes to a terminal that has so many columns; in a background process group if
 * `is_background`. */
static void run(void (*work)(void), unsigned short columns, bool is_background, char *text,
                size_t size)
{
    struct winsize window = {.ws_row = 24, .ws_col = columns};
    int terminal;
    pid_t child = forkpty(&terminal, NULL, NULL, &window);
    assert_true(child >= 0);
    if (child == 0) {
        pid_t inner = is_background ? fork() : 0;
        if (inner == 0) {
            work();
            fflush(stderr);
            _exit(0);
        }
        waitpid(inner, NULL, 0);
        _exit(0);
    }
    size_t length = 0;
    for (ssize_t got;
         length + 1 < size && (got = read(terminal, text + length, size - 1 - length)) > 0;) {
        length += (size_t)got;
    }
    text[length] = '\0';
    close(terminal);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void the_line_has_time_samples_rate_and_losses(void **state)
{
    (void)state;
    char text[1000];
    run(draw_once, 100, false, text, sizeof text);
    /* 47 characters at the right edge. */
    assert_non_null(strstr(text, "stepscope 2:05  9876 samples  100/s  0.5 % lost"));
    assert_non_null(strstr(text, "[53G"));
    assert_string_equal(text + strlen(text) - 2, "[G");
}

static void nothing_is_divided_by_nothing(void **state)
{
    (void)state;
    char text[1000];
    run(draw_the_begin, 100, false, text, sizeof text);
    assert_non_null(strstr(text, "stepscope 0:00  0 samples  0/s  0.0 % lost"));
}

static void it_is_drawn_twice_a_second(void **state)
{
    (void)state;
    char text[2000];
    run(draw_when_due, 100, false, text, sizeof text);
    const char *first = strstr(text, "stepscope 0:01");
    assert_non_null(first);
    const char *second = strstr(first + 1, "stepscope 0:01");
    assert_non_null(second);
    assert_null(strstr(second + 1, "stepscope"));
}

static void a_narrow_terminal_has_no_line(void **state)
{
    (void)state;
    char text[1000];
    run(draw_once, 48, false, text, sizeof text); /* one column less than it takes */
    assert_string_equal(text, "");
    run(draw_once, 49, false, text, sizeof text);
    assert_non_null(strstr(text, "[2G"));
}

static void what_was_drawn_is_cleared_once(void **state)
{
    (void)state;
    char text[1000];
    run(draw_and_clear_twice, 100, false, text, sizeof text);
    const char *cleared = strstr(text, "[K");
    assert_non_null(cleared);
    assert_null(strstr(cleared + 1, "[K"));
    run(clear_alone, 100, false, text, sizeof text);
    assert_string_equal(text, "");
}

static void in_the_background_nothing_is_written(void **state)
{
    (void)state;
    char text[1000];
    run(draw_in_the_background, 100, true, text, sizeof text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_has_time_samples_rate_and_losses),
        cmocka_unit_test(nothing_is_divided_by_nothing),
        cmocka_unit_test(it_is_drawn_twice_a_second),
        cmocka_unit_test(a_narrow_terminal_has_no_line),
        cmocka_unit_test(what_was_drawn_is_cleared_once),
        cmocka_unit_test(in_the_background_nothing_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
