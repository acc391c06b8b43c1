/* SPDX-License-Identifier: Apache-2.0 */
/* Which importer the content of a file selects, and what is said of files that none loads. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/files/importer.h"

#define GOLDEN SS_TEST_SOURCE_DIR "/tests/golden/"

static char path[] = "/tmp/ss_importers.XXXXXX";

static void write_file(const char *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* The status and message of a load; "" when it worked. */
static enum ss_status import(bool is_named, struct ss_error *err)
{
    struct ss_model model;
    struct ss_model_load load = {.size = sizeof load, .quiet = true};
    ss_model_init(&model);
    *err = (struct ss_error){0};
    enum ss_status status = ss_import_file(&model, path, is_named, &load, err);
    ss_model_fini(&model);
    return status;
}

static void content_selects_the_row(void **state)
{
    (void)state;
    static const char folded[] = "main (a.py:1);inner (a.py:2) 7\nmain (a.py:1) 2\n";
    write_file(folded, sizeof folded - 1);
    assert_ptr_equal(ss_importer_of_file(path), &ss_importer_raw);
    write_file("no stack at all\nnor here\n", 25);
    assert_null(ss_importer_of_file(path)); /* in doubt, none */
    assert_null(ss_importer_of_file("/nonexistent"));
    write_file("[{\"ph\": \"X\"}]", 13);
    assert_ptr_equal(ss_importer_of_file(path), &ss_importer_chrome);
    write_file("{\"profiles\":[{\"type\":\"sampled\"", 31);
    assert_ptr_equal(ss_importer_of_file(path), &ss_importer_speedscope);
    write_file("==PROF== x\n\"ID\",\"Process ID\",", 29);
    assert_ptr_equal(ss_importer_of_file(path), &ss_importer_ncu);
    write_file("\x0a\x06\x50\x05\x5a\x02\x48\x03\x0a\x02\x50\x05", 12);
    assert_ptr_equal(ss_importer_of_file(path), &ss_importer_perfetto);
    assert_ptr_equal(ss_importer_of_file(GOLDEN "good/small.pftrace"), &ss_importer_trace);
}

/* One case of a known format, or of an unknown one. */
struct refused {
    const char *bytes;
    size_t length;
    const char *message; /* part of it */
};

static void foreign_formats_are_named(void **state)
{
    (void)state;
    static const struct refused cases[] = {
        {"\x1f\x8b\x08", 3, "cannot be unpacked"},
        {"\x28\xb5\x2f\xfd", 4, "cannot be unpacked"},
        {"NVR\0\x10", 5, "--csv --page raw > "},
        {"\x7f"
         "ELF",
         4, "an ELF program"},
        {" \n{\"traceEvents\": []}", 22, "JSON without an event of a trace, up to byte"},
        {"{\"a\": 1}", 8, "JSON, but no trace"},
        {"PAR1\x15\x04", 6, "Parquet table"},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5000\n", 60,
         "a pointer of Git LFS, not the file itself: git lfs pull"},
        {"\xff\xfe[\0", 4, "UTF-16 text"},
        {"\n\x11\x08\x01\x12\x0d/device:GPU:0", 19, "an XSpace without an event that can be read"},
        {"{\"rocprofiler-sdk-tool\": []}", 28, "rocprofv3 --output-format pftrace"},
        {"{\"stackFrames\": {}, \"samples\": []}", 34, "export it as speedscope"},
        {"some text\nmain;work 3\n", 22, "1 of its 2 lines are none (line 1 has no sample"},
        {"<svg>", 5, "SVG or XML"},
        {"NVIDIA Tegra Profiler Report 2026@4@1", 37, "export it: nsys export --type sqlite /tmp"},
        {"SQLite format 3", 16, "cannot read the SQLite file"}, /* its NUL is part of it */
    };
    struct ss_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(cases[i].bytes, cases[i].length);
        assert_int_equal(import(true, &err), SS_E_FORMAT);
        assert_non_null(strstr(err.message, cases[i].message));
    }
}

/* A function may be named "[" or "<svg": a folded first line decides. */
static void a_name_is_no_format(void **state)
{
    (void)state;
    struct ss_error err;
    write_file("<svg;[ 3\n", 9);
    assert_int_equal(import(true, &err), SS_OK);
    assert_ptr_equal(ss_importer_of_file(path), &ss_importer_raw);
}

static void a_named_file_is_tried(void **state)
{
    (void)state;
    struct ss_error err;
    static const char text[] = "m;a 1\nm;b 1\nm;c 1\nm;d 1\nno stack\nm;e 1\nm;f 1\nm;g 1\nm;h 1\n"
                               "m;i 1\n";
    write_file(text, sizeof text - 1);
    assert_int_equal(import(true, &err), SS_OK); /* nine of its ten lines are stacks */
    write_file(text, sizeof text - 1 - sizeof "m;i 1");
    assert_int_equal(import(true, &err), SS_E_FORMAT);
    assert_int_equal(import(false, &err), SS_E_FORMAT);
    assert_non_null(strstr(err.message, "neither a trace nor a raw file"));
    write_file("", 0);
    assert_int_equal(import(true, &err), SS_OK);
    assert_int_equal(import(false, &err), SS_E_FORMAT);
    assert_non_null(strstr(err.message, "is empty"));
}

/* Files of one axis need both functions; formats without times have neither. */
static void rows_are_complete(void **state)
{
    (void)state;
    for (size_t i = 0; ss_importers[i] != NULL; i++) {
        const struct ss_importer *row = ss_importers[i];
        assert_non_null(row->name);
        assert_non_null(row->summary);
        assert_non_null(row->probe);
        assert_non_null(row->load);
        assert_int_equal(row->read_first_time != NULL, row->scan_steps != NULL);
    }
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd >= 0 ? close(fd) : -1;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* What is read to judge a pipe is lost to its loader. */
static void a_pipe_is_not_read_to_judge_it(void **state)
{
    (void)state;
    char folder[] = "/tmp/stepscope-test-XXXXXX", pipe_path[64], text[8] = "";
    assert_non_null(mkdtemp(folder));
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    int fd = open(pipe_path, O_RDWR | O_NONBLOCK);
    assert_int_equal(write(fd, "\x1f\x8b\x08", 3), 3);
    assert_false(ss_import_is_archive(pipe_path));
    assert_int_equal(read(fd, text, sizeof text), 3);
    close(fd);
    unlink(pipe_path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_selects_the_row), cmocka_unit_test(foreign_formats_are_named),
        cmocka_unit_test(a_name_is_no_format),     cmocka_unit_test(a_named_file_is_tried),
        cmocka_unit_test(rows_are_complete),       cmocka_unit_test(a_pipe_is_not_read_to_judge_it),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
