/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <signal.h>
#include <string.h>

#include "base/capture.h"

static struct ss_capture parsed(const char *what, const char *end)
{
    struct ss_capture capture;
    struct ss_error err = {0};
    if (ss_capture_parse(what, end, &capture, &err) != SS_OK) {
        fail_msg("%s: %s", what, err.message);
    }
    return capture;
}

static void assert_refused(const char *what, const char *end, const char *why)
{
    struct ss_capture capture = {.most = 77};
    struct ss_error err = {0};
    assert_int_equal(ss_capture_parse(what, end, &capture, &err), SS_E_USAGE);
    if (strstr(err.message, why) == NULL) {
        fail_msg("%s: %s", what, err.message);
    }
    assert_int_equal(capture.most, 77);
}

static void ranges(void **state)
{
    (void)state;
    struct ss_capture capture = parsed("nvtx:a b, c:d@e", NULL);
    assert_int_equal(capture.by, SS_CAPTURE_BY_NVTX);
    assert_string_equal(capture.name, "a b, c:d");
    assert_string_equal(capture.domain, "e");
    assert_false(capture.is_any_domain);
    assert_true(parsed("nvtx:a", NULL).is_any_domain);
    assert_true(parsed("nvtx:a@*", NULL).is_any_domain);
    assert_string_equal(parsed("nvtx:a@b@*", NULL).name, "a@b");
    capture = parsed("nvtx:a@", NULL);
    assert_string_equal(capture.domain, "");
    assert_false(capture.is_any_domain);
    assert_refused("nvtx:", NULL, "the name of a range");
    char longest[6 + SS_CAPTURE_MOST_NAME + 1] = "nvtx:";
    memset(longest + 5, 'x', SS_CAPTURE_MOST_NAME);
    assert_refused(longest, NULL, "1 to 511 bytes");
    longest[5 + SS_CAPTURE_MOST_NAME - 1] = '\0';
    parsed(longest, NULL);
}

static void times(void **state)
{
    (void)state;
    struct ss_capture capture = parsed("delay:30s,duration:1.5m", NULL);
    assert_int_equal(capture.by, SS_CAPTURE_BY_TIME);
    assert_int_equal(capture.delay_ns, UINT64_C(30000000000));
    assert_int_equal(capture.duration_ns, UINT64_C(90000000000));
    assert_int_equal(parsed("duration:250ms", NULL).duration_ns, 250000000);
    assert_int_equal(parsed("duration:2", NULL).duration_ns, UINT64_C(2000000000));
    assert_int_equal(parsed("duration:2h,delay:0.5s", NULL).delay_ns, 500000000);
    static const char *const wrong[] = {
        "delay:",    "delay:x",         "delay:3 s",         "delay:0s",  "delay:1d",
        "delay:1s,", "delay:1s,step:3", "delay:1s,delay:2s", "delay:-1s", "delay:99999999999999h"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_refused(wrong[i], NULL, "a time is a number with ms, s, m or h");
    }
    assert_refused("delay:1s", "stop-shutdown", "add duration:TIME");
}

static void steps(void **state)
{
    (void)state;
    struct ss_capture capture = parsed("step:100-109", NULL);
    assert_int_equal(capture.first_step, 100);
    assert_int_equal(capture.last_step, 109);
    assert_int_equal(parsed("step:7", NULL).last_step, 7);
    assert_int_equal(parsed("step:7:9", NULL).last_step, 9);
    assert_refused("step:9-7", NULL, "the first and the last one");
    assert_refused("step:", NULL, "the first and the last one");
    assert_refused("step:99999999999999999999", NULL, "the first and the last one");
}

static void signals(void **state)
{
    (void)state;
    assert_int_equal(parsed("signal:USR2", NULL).signal, SIGUSR2);
    assert_int_equal(parsed("signal:SIGUSR1", NULL).signal, SIGUSR1);
    assert_int_equal(parsed("signal:RTMIN+3", NULL).signal, SIGRTMIN + 3);
    assert_refused("signal:TERM", NULL, "USR1, USR2 or RTMIN+N");
    assert_refused("signal:RTMIN+900", NULL, "USR1, USR2 or RTMIN+N");
    assert_refused("cudaProfilerApi", NULL, "a capture is cuda-profiler-api");
}

static void ends(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t most;
        bool stays_open, ends_program;
    } rows[] = {{NULL, 0, false, false},
                {"repeat", 0, false, false},
                {"repeat:3", 3, false, false},
                {"stop", 1, false, false},
                {"none", 1, true, false},
                {"stop-shutdown", 1, false, true},
                {"repeat-shutdown:4", 4, false, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ss_capture capture = parsed("cuda-profiler-api", rows[i].text);
        assert_int_equal(capture.most, rows[i].most);
        assert_int_equal(capture.stays_open, rows[i].stays_open);
        assert_int_equal(capture.ends_program, rows[i].ends_program);
    }
    static const char *const wrong[] = {
        "",         "repeat:0", "repeat:",          "repeat:x", "repeat-shutdown",
        "shutdown", "stop:2",   "repeat:4294967295"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_refused("cuda-profiler-api", wrong[i], "the end of a capture is");
    }
}

/* What a process gets is what the user has asked for. */
static void texts_for_processes(void **state)
{
    (void)state;
    static const struct {
        const char *what, *end;
    } rows[] = {{"cuda-profiler-api", NULL},
                {"nvtx:a/b c@d", "repeat:3"},
                {"nvtx:a@", "none"},
                {"nvtx:a@b@*", "stop"},
                {"step:3-4", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[SS_CAPTURE_TEXT_BYTES];
        struct ss_capture before = parsed(rows[i].what, rows[i].end), after;
        ss_capture_put(&before, text, sizeof text);
        assert_true(ss_capture_get(text, &after));
        assert_int_equal(after.by, before.by);
        assert_int_equal(after.most, before.most);
        assert_int_equal(after.stays_open, before.stays_open);
        assert_string_equal(after.name, before.name);
        assert_string_equal(after.domain, before.domain);
        assert_int_equal(after.is_any_domain, before.is_any_domain);
        assert_int_equal(after.first_step, before.first_step);
        assert_int_equal(after.last_step, before.last_step);
    }
    struct ss_capture capture = parsed("delay:1s", NULL);
    char text[SS_CAPTURE_TEXT_BYTES];
    ss_capture_put(&capture, text, sizeof text);
    assert_string_equal(text, "on-demand");
    assert_false(ss_capture_get(text, &capture));
    assert_false(ss_capture_get(NULL, &capture));
    assert_false(ss_capture_get("wait=1,active=2", &capture));
    assert_false(ss_capture_get("capture/", &capture));
    assert_false(ss_capture_get("capture/repeat/", &capture));
    assert_false(ss_capture_get("capture/0123456789012345678901234567890123456789/a", &capture));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges),  cmocka_unit_test(times), cmocka_unit_test(steps),
        cmocka_unit_test(signals), cmocka_unit_test(ends),  cmocka_unit_test(texts_for_processes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
