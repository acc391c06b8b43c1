/* SPDX-License-Identifier: Apache-2.0 */
/* `report` of files that are broken, empty, not what they seem, or many; of the newest recording;
 * and what may not be overwritten. */
#include <dirent.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "json_output.h"

static const char two_lines[] =
    "main (train.py:3);load (data.py:9) 40\nmain (train.py:4);step (train.py:8) 60\n";

/* --- lines that are broken -------------------------------------------------------------------- */

static void test_unreadable_lines_are_skipped_counted_and_named(void **state)
{
    (void)state;
    static const char lines[] = "good (a.py:1) 40\nno count here\nneg (a.py:2) -4\n\n  \r\n"
                                "big (a.py:3) 18446744073709551616\nnul\0 (a.py:4) 3\n"
                                "good (a.py:1);more (b.py:2) 33\n";
    FILE *file = fopen("broken.txt", "w");
    fwrite(lines, 1, sizeof lines - 1, file);
    for (int i = 0; i < 27; i++) {
        fputs("good (a.py:1) 1\n", file);
    }
    fclose(file);
    struct ran ran = stepscope("report", "--by", "leaf", "-f", "json", "broken.txt");
    expect_status(&ran, 0);
    json_t *root = parse_json(ran.out);
    assert_int_equal(json_integer_at(root, "header.inputs.0.lines"), 33); /* empty ones are none */
    assert_int_equal(json_integer_at(root, "header.inputs.0.skipped_lines"), 4);
    assert_int_equal(json_integer_at(root, "header.samples.recorded"), 100);
    json_decref(root);
    assert_string_equal(
        ran.err, "stepscope: broken.txt: 4 of 33 lines skipped (lines 2, 3, 6, 7): the first "
                 "has no sample count at its end\n");
    ran = stepscope("report", "--strict", "broken.txt");
    expect_status(&ran, 3);
    assert_string_equal(
        ran.err, "stepscope report: broken.txt:2: unreadable: the line has no sample count at "
                 "its end (without --strict it is skipped)\n");
}

static void test_counts_that_are_too_large(void **state)
{
    (void)state;
    put_text("large.txt", "a (x.py:1) 9223372036854775807\n");
    json_t *root = parse_json(stepscope("report", "--by", "leaf", "-f", "json", "large.txt").out);
    assert_true(json_integer_at(root, "tables.0.rows.0.samples") == INT64_MAX);
    json_decref(root);
    put_text("large.txt", "a (x.py:1) 9223372036854775808\nb (x.py:1) 1\n");
    expect_text(stepscope("report", "large.txt").err,
                "1 of 2 lines skipped (line 1): the first has a sample count of 2^63 or more\n");
    put_text("large.txt", "a (x.py:1) 9223372036854775807\nb (x.py:1) 1\n");
    expect_text(stepscope("report", "large.txt").err,
                "(line 2): the first has a count that takes the sum to 2^63 or more\n");
}

/* --- files with nothing to report ------------------------------------------------------------- */

static void test_nothing_to_report_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        const char *message;
    } cases[] = {
        {"", 0, "x holds no samples\n"},
        {"\n\n", 2, "x holds no samples\n"},
        {"a (x.py:1) 0\n", 13, "x holds no samples\n"},
        {"words\nand words\n", 16,
         "x: none of its 2 lines is a folded stack (the first has no sample count at its end); "
         "stepscope reads its own traces and py-spy's raw format\n"},
        {"\200\0\1\2\0\1\2", 7, "x: none of its 1 lines is a folded stack (the first has a NUL"},
        {"\37\213\10rest", 7,
         "x begins as a file of gzip, bzip2, xz or zstd, but cannot be unpacked"},
        {"{\"profiles\": []}", 16, "x is JSON, but no trace that stepscope reads\n"},
        {"<svg>", 5, "x is SVG or XML: record with -f native or -f raw for reports\n"},
        {"\177ELF", 4, "x is an ELF program or library\n"},
    };
    static const char *const tables[] = {"leaf",   "function", "line", "file",
                                         "thread", "process",  "tree"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_bytes("x", cases[i].bytes, cases[i].length);
        for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
            struct ran ran = stepscope("report", "--by", tables[t], "x");
            expect_status(&ran, 3);
            expect_text(ran.err, cases[i].message);
        }
    }
}

static void test_names_that_look_like_another_format(void **state)
{
    (void)state;
    static const char *const names[] = {"[", "{", "<svg", "<?xml", "<!DOCTYPE", "{f"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        FILE *file = fopen("x", "w");
        for (int line = 0; line < 9; line++) {
            fprintf(file, "%s (x.py:1) 50\n", names[i]);
        }
        fputs("words only\n", file);
        fclose(file);
        json_t *root = parse_json(stepscope("report", "--by", "leaf", "-f", "json", "x").out);
        assert_int_equal(json_count_at(root, "tables.0.rows"), 9);
        assert_string_equal(json_text_at(root, "tables.0.rows.8.name"), names[i]);
        assert_int_equal(json_integer_at(root, "tables.0.rows.8.samples"), 50);
        json_decref(root);
    }
}

static void test_files_that_are_not_there(void **state)
{
    (void)state;
    struct ran ran = stepscope("report", "gone");
    expect_status(&ran, 4);
    expect_text(ran.err, "gone: No such file or directory\n");
    if (geteuid() != 0) { /* root reads every file */
        put_text("closed.txt", two_lines);
        assert_int_equal(chmod("closed.txt", 0), 0);
        ran = stepscope("report", "closed.txt");
        expect_status(&ran, 4);
        expect_text(ran.err, "Permission denied");
    }
}

/* --- a folder --------------------------------------------------------------------------------- */

static void test_odd_files_in_a_folder(void **state)
{
    (void)state;
    assert_int_equal(mkdir("all", 0755), 0);
    assert_int_equal(mkdir("all/sub", 0755), 0);
    put_text("all/node0.txt", "f (a.py:1) 40\n");
    put_text("all/node1.txt", "f (a.py:1) 60\n");
    put_text("all/.hidden", "h (a.py:1) 1000\n");
    put_bytes("all/model.bin", "\0\1\2\3\4\5", 6);
    put_text("all/config.json", "{\"a\": 1}\n");
    put_text("all/empty.txt", "");
    put_text("all/sub/node2.txt", "f (a.py:1) 1000\n");
    assert_int_equal(mkfifo("all/pipe", 0600), 0);
    struct ran ran =
        stepscope("report", "--by", "leaf", "--aggregate-leaf-paths", "-f", "json", "all");
    expect_status(&ran, 0);
    json_t *root = parse_json(ran.out);
    assert_int_equal(json_count_at(root, "tables.0.rows"), 1);
    assert_int_equal(json_integer_at(root, "tables.0.rows.0.samples"), 100);
    assert_int_equal(json_count_at(root, "header.inputs"), 2);
    assert_string_equal(json_text_at(root, "header.inputs.0.path"), "all/node0.txt");
    assert_string_equal(json_text_at(root, "header.inputs.1.path"), "all/node1.txt");
    assert_int_equal(json_integer_at(root, "header.skipped_files"), 3);
    json_decref(root);
    expect_text(ran.err, "stepscope: skipped: all/model.bin is ");
    expect_text(ran.err, "stepscope: skipped: all/empty.txt is empty\n");
    ran = stepscope("report", "--strict", "all");
    expect_status(&ran, 3);
    expect_text(ran.err, "all/config.json is JSON, but no trace that stepscope reads\n");
    put_text("all/sub/node2.txt", "no folded line\n");
    ran = stepscope("report", "all/sub");
    expect_status(&ran, 3);
    expect_text(ran.err, "folder all/sub holds no trace and no raw file\n");
}

/* --- the newest recording here ---------------------------------------------------------------- */

static void put_aged(const char *name, const char *text, time_t time)
{
    put_text(name, text);
    const struct timeval times[2] = {{.tv_sec = time}, {.tv_sec = time}};
    assert_int_equal(utimes(name, times), 0);
}

static void test_the_newest_recording_here(void **state)
{
    (void)state;
    put_aged("old.txt", "old (a.py:1) 50\n", 999999999);
    put_aged("new.txt", "new (a.py:1) 50\n", 1000000000);
    put_aged("notes.txt", "just some words\n", 1000000001);
    put_aged("other.csv", "f (a.py:1) 50\n", 1000000002); /* no ending of stacks */
    struct ran ran = stepscope("report", "--by", "leaf");
    expect_status(&ran, 0);
    expect_text(ran.err, "stepscope report: the newest recording here is new.txt\n");
    expect_text(ran.out, "\nnew   a.py");
    put_aged("newer.txt", "newer (a.py:1) 50\n", 1000000000); /* as old: the last by name */
    expect_text(stepscope("report").err, "the newest recording here is newer.txt\n");
    put_bytes("tiny.pftrace", text_of("newer.txt"), 3); /* no trace */
    expect_text(stepscope("report").err, "the newest recording here is newer.txt\n");
    assert_int_equal(mkdir("empty", 0755), 0);
    assert_int_equal(chdir("empty"), 0);
    ran = stepscope("report");
    expect_status(&ran, 4);
    expect_text(ran.err, "stepscope record");
    assert_int_equal(chdir(".."), 0);
}

/* --- what may not be overwritten -------------------------------------------------------------- */

static const char *const *const writers[] = {
    (const char *const[]){"report", NULL},
    (const char *const[]){"report", "-f", "json", NULL},
    (const char *const[]){"flame", NULL},
    (const char *const[]){"export", "--to", "raw", NULL},
    (const char *const[]){"export", "--to", "speedscope", NULL},
};

static struct ran write_to(const char *const *command, const char *input, const char *output)
{
    const char *words[12] = {"stepscope"};
    size_t count = 1;
    for (; *command != NULL; command++) {
        words[count++] = *command;
    }
    words[count++] = input;
    words[count++] = "-o";
    words[count++] = output;
    return stepscope_to(-1, words);
}

static void test_no_input_is_overwritten(void **state)
{
    (void)state;
    static const char *const outputs[] = {"in.txt", "same", "link"};
    put_text("in.txt", two_lines);
    put_text("base.txt", two_lines);
    assert_int_equal(link("in.txt", "same"), 0);
    assert_int_equal(symlink("in.txt", "link"), 0);
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        for (size_t o = 0; o < 3; o++) {
            struct ran ran = write_to(writers[i], "in.txt", outputs[o]);
            expect_status(&ran, 2);
            expect_text(ran.err, " is the input: name another output\n");
        }
    }
    struct ran ran = stepscope("export", ".", "--to", "raw", "-o", "base.txt");
    expect_status(&ran, 2); /* a file of the folder */
    ran = stepscope("flame", "in.txt", "--diff", "base.txt", "-o", "base.txt");
    expect_status(&ran, 2);
    assert_string_equal(text_of("in.txt"), two_lines);
    assert_string_equal(text_of("base.txt"), two_lines);
}

static int count_entries(void)
{
    int count = 0;
    DIR *folder = opendir(".");
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

static void test_standard_output_by_its_names(void **state)
{
    (void)state;
    static const struct {
        size_t writer;
        const char *text;
    } cases[] = {{0, "Hottest lines"}, {2, "</svg>"}, {3, "main (train.py:4)"}};
    static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1"};
    put_text("in.txt", two_lines);
    for (size_t i = 0; i < 3; i++) {
        for (size_t n = 0; n < 3; n++) {
            struct ran ran = write_to(writers[cases[i].writer], "in.txt", names[n]);
            expect_status(&ran, 0);
            expect_text(ran.out, cases[i].text);
            assert_int_equal(count_entries(), 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_folder(test_unreadable_lines_are_skipped_counted_and_named),
        in_folder(test_counts_that_are_too_large),
        in_folder(test_nothing_to_report_says_why),
        in_folder(test_names_that_look_like_another_format),
        in_folder(test_files_that_are_not_there),
        in_folder(test_odd_files_in_a_folder),
        in_folder(test_the_newest_recording_here),
        in_folder(test_no_input_is_overwritten),
        in_folder(test_standard_output_by_its_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
