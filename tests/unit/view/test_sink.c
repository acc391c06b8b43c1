/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "view/output/json_text.h"
#include "view/output/sink.h"

static char folder[128];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/sink-XXXXXX", SS_TEST_BINARY_DIR);
    return mkdtemp(folder) != NULL && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink("out");
    unlink("link");
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static int count_files(void)
{
    int count = 0;
    DIR *files = opendir(".");
    while (readdir(files) != NULL) {
        count++;
    }
    closedir(files);
    return count - 2;
}

static void check_content(const char *path, const char *expected)
{
    char text[64] = "";
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    assert_string_equal(text, expected);
}

static void test_file_appears_when_complete(void **state)
{
    (void)state;
    struct ss_sink sink;
    struct ss_error err = {0};
    assert_int_equal(ss_sink_open(&sink, "out", 0666, &err), SS_OK);
    ss_sink_text(&sink, "new");
    assert_int_equal(access("out", F_OK), -1);
    assert_int_equal(ss_sink_close(&sink, &err), SS_OK);
    check_content("out", "new");
    assert_int_equal(count_files(), 1);
}

static void test_abandoned_leaves_the_old_file(void **state)
{
    (void)state;
    struct ss_sink sink;
    struct ss_error err = {0};
    assert_int_equal(ss_sink_open(&sink, "out", 0666, &err), SS_OK);
    ss_sink_text(&sink, "half");
    ss_sink_abandon(&sink);
    check_content("out", "new");
    assert_int_equal(count_files(), 1);
}

static void test_link_and_mode_are_kept(void **state)
{
    (void)state;
    struct ss_sink sink;
    struct ss_error err = {0};
    assert_int_equal(symlink("out", "link"), 0);
    assert_int_equal(chmod("out", 0640), 0);
    assert_int_equal(ss_sink_open(&sink, "link", 0666, &err), SS_OK);
    ss_sink_text(&sink, "through");
    assert_int_equal(ss_sink_close(&sink, &err), SS_OK);
    check_content("out", "through");
    struct stat status;
    assert_int_equal(lstat("link", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat("out", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
}

static void test_errors(void **state)
{
    (void)state;
    struct ss_sink sink;
    struct ss_error err = {0};
    assert_int_equal(ss_sink_open(&sink, ".", 0666, &err), SS_E_IO);
    assert_int_equal(ss_sink_open(&sink, "no/such/folder", 0666, &err), SS_E_NOTFOUND);
    assert_int_equal(ss_sink_open(&sink, "/dev/full", 0666, &err), SS_OK);
    for (int i = 0; i < 100000; i++) {
        ss_sink_text(&sink, "0123456789");
    }
    assert_true(ss_sink_failed(&sink));
    assert_int_equal(ss_sink_close(&sink, &err), SS_E_NOSPACE);
    assert_non_null(strstr(err.message, "/dev/full"));
}

static void test_closed_pipe_is_an_error_not_a_death(void **state)
{
    (void)state;
    int ends[2];
    char path[64];
    struct ss_sink sink;
    struct ss_error err = {0};
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    assert_int_equal(ss_sink_open(&sink, path, 0666, &err), SS_OK);
    close(ends[0]);
    close(ends[1]);
    ss_sink_text(&sink, "lost");
    assert_int_equal(ss_sink_close(&sink, &err), SS_E_IO);
    assert_non_null(strstr(err.message, "Broken pipe"));
}

static void test_names_of_descriptors(void **state)
{
    (void)state;
    assert_int_equal(ss_sink_descriptor("-"), 1);
    assert_int_equal(ss_sink_descriptor("/dev/stdout"), 1);
    assert_int_equal(ss_sink_descriptor("/dev/stderr"), 2);
    assert_int_equal(ss_sink_descriptor("/dev/fd/63"), 63);
    assert_int_equal(ss_sink_descriptor("/proc/self/fd/0"), 0);
    static const char *const others[] = {
        "",           "a",          "--",         "/dev/fd/",
        "/dev/fd/1x", "/dev/fd/-1", "/dev/fd/ 1", "/dev/fd/99999999999999999999"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(ss_sink_descriptor(others[i]), -1);
    }
}

static void check_json(const char *bytes, size_t length, const char *expected)
{
    struct ss_sink sink;
    ss_sink_open_memory(&sink, 1000);
    ss_json_write_string(&sink, (struct ss_strview){bytes, length});
    assert_string_equal(sink.buffer.data, expected);
    ss_sink_abandon(&sink);
}

static void test_json_strings(void **state)
{
    (void)state;
    check_json("plain", 5, "\"plain\"");
    check_json("", 0, "\"\"");
    check_json("a\"b\\c\n\t", 7, "\"a\\\"b\\\\c\\n\\t\"");
    check_json("\0\x1f\x7f", 3, "\"\\u0000\\u001f\\u007f\"");
    check_json("</script>&", 10, "\"\\u003c/script\\u003e\\u0026\"");
    check_json("\xff\xc3", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    check_json("é€😀", 9, "\"é€😀\"");
    check_json("\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void test_json_times(void **state)
{
    (void)state;
    struct ss_sink sink;
    ss_sink_open_memory(&sink, 1000);
    ss_json_write_us(&sink, 0);
    ss_sink_text(&sink, " ");
    ss_json_write_us(&sink, 1002003);
    ss_sink_text(&sink, " ");
    ss_json_write_us(&sink, UINT64_C(86400000000000001));
    assert_string_equal(sink.buffer.data, "0.000 1002.003 86400000000000.001");
    ss_sink_abandon(&sink);
}

static void test_json_numbers(void **state)
{
    (void)state;
    struct ss_sink sink;
    const double reals[] = {0.1, 1e300, 0.59259259700775146, -2, 1.0 / 3, INFINITY};
    ss_sink_open_memory(&sink, 1000);
    ss_json_write_natural(&sink, UINT64_MAX);
    ss_sink_text(&sink, " ");
    ss_json_write_integer(&sink, INT64_MIN);
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        ss_sink_text(&sink, " ");
        ss_json_write_real(&sink, reals[i]);
    }
    assert_string_equal(sink.buffer.data, "18446744073709551615 -9223372036854775808 0.1 1e+300 "
                                          "0.5925925970077515 -2 0.3333333333333333 null");
    ss_sink_abandon(&sink);
}

static void test_plain_strings_keep_angle_brackets(void **state)
{
    (void)state;
    struct ss_sink sink;
    ss_sink_open_memory(&sink, 1000);
    ss_json_write_plain(&sink, ss_strview_of("a<b>&\"\\\x01\xff\x7f"));
    assert_string_equal(sink.buffer.data, "\"a<b>&\\\"\\\\\\u0001\xef\xbf\xbd\\u007f\"");
    ss_sink_abandon(&sink);
}

/* Longer than all buffers, and empty. */
static void test_compressed_files(void **state)
{
    (void)state;
    const size_t lengths[] = {0, 1, 3000000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct ss_sink sink;
        uint64_t stored_bytes = 0;
        char block[4096];
        size_t left = lengths[i];
        assert_int_equal(ss_sink_open(&sink, "out", 0600, NULL), SS_OK);
        ss_sink_compress(&sink);
        for (size_t at = 0; at < left; at++) {
            ss_sink_write(&sink, &"0123456789abcdef"[(at * at) % 16], 1);
        }
        assert_int_equal(sink.written_bytes, left);
        assert_int_equal(ss_sink_close_sized(&sink, &stored_bytes, NULL), SS_OK);
        assert_true(stored_bytes >= 18 && stored_bytes < 100000);
        gzFile file = gzopen("out", "rb");
        size_t at = 0;
        for (int got; (got = gzread(file, block, sizeof block)) > 0;) {
            for (int byte = 0; byte < got; byte++, at++) {
                assert_int_equal(block[byte], "0123456789abcdef"[(at * at) % 16]);
            }
        }
        assert_int_equal(at, left);
        assert_int_equal(gzclose(file), Z_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_appears_when_complete),
        cmocka_unit_test(test_abandoned_leaves_the_old_file),
        cmocka_unit_test(test_link_and_mode_are_kept),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_closed_pipe_is_an_error_not_a_death),
        cmocka_unit_test(test_names_of_descriptors),
        cmocka_unit_test(test_json_strings),
        cmocka_unit_test(test_json_times),
        cmocka_unit_test(test_json_numbers),
        cmocka_unit_test(test_plain_strings_keep_angle_brackets),
        cmocka_unit_test(test_compressed_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
