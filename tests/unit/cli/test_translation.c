/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines of other profilers in ours: what people type, what each option of the table
 * becomes, and that our commands take it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/line/command.h"
#include "cli/line/translation.h"

enum { MOST_WORDS = 64 };

/* Splits at spaces, in place. */
static void split(char *text, char **words)
{
    size_t count = 0;
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        assert_true(count + 1 < MOST_WORDS);
        words[count++] = word;
    }
    words[count] = NULL;
}

/* `theirs` without a quote: words are separated by spaces. Returns what is said of it; the caller
 * frees. */
static char *translate(const char *theirs, enum ss_status *status, char **remarks)
{
    char *text = strdup(theirs), *words[MOST_WORDS];
    struct ss_translation translation;
    struct ss_error err = {0};
    struct ss_strbuf line;
    ss_strbuf_init(&line, 65536);
    split(text, words);
    *status = ss_translate(words, &translation, &err);
    if (*status == SS_OK) {
        ss_translation_append_line(&translation, &line);
    } else {
        ss_strbuf_append_text(&line, err.message);
    }
    if (remarks != NULL) {
        *remarks = strdup(translation.remarks.data);
    }
    ss_translation_fini(&translation);
    free(text);
    char *copy = strdup(line.data);
    ss_strbuf_fini(&line);
    return copy;
}

static void expect(const char *theirs, const char *ours)
{
    enum ss_status status;
    char *line = translate(theirs, &status, NULL);
    assert_int_equal(status, SS_OK);
    assert_string_equal(line, ours);
    free(line);
}

static void expect_refusal(const char *theirs, const char *part)
{
    enum ss_status status;
    char *line = translate(theirs, &status, NULL);
    assert_int_equal(status, SS_E_USAGE);
    assert_non_null(strstr(line, part));
    free(line);
}

static void expect_remark(const char *theirs, const char *part)
{
    enum ss_status status;
    char *remarks, *line = translate(theirs, &status, &remarks);
    assert_int_equal(status, SS_OK);
    assert_non_null(strstr(remarks, part));
    free(line);
    free(remarks);
}

/* --- what people type ------------------------------------------------------------------------- */

static void test_nsys_captures(void **state)
{
    (void)state;
    expect("nsys profile -c cudaProfilerApi ./train",
           "stepscope record --capture cuda-profiler-api --capture-end stop-shutdown -- ./train");
    expect("nsys profile --capture-range=cudaProfilerApi --capture-range-end=repeat:3 ./train",
           "stepscope record --capture cuda-profiler-api --capture-end repeat:3 -- ./train");
    expect("nsys profile -c nvtx -p step@own --capture-range-end stop ./train",
           "stepscope record --capture nvtx:step@own --capture-end stop -- ./train");
    expect("nsys profile -c none -d 3 ./train", "stepscope record --duration 3 -- ./train");
    expect("nsys profile -y 5 ./train", "stepscope record --capture delay:5 -- ./train");
    expect("nsys profile --delay 5 --duration=60 ./train",
           "stepscope record --capture delay:5,duration:60 -- ./train");
    expect_refusal("nsys profile -c hotkey ./train", "--capture signal:USR2");
    expect_refusal("nsys profile -c nvtx ./train", "--nvtx-capture NAME");
    expect_refusal("nsys profile -c cudaProfilerApi -y 4 ./train", "exclude each other");
}

static void test_nsys_profile(void **state)
{
    (void)state;
    expect("nsys profile python train.py", "stepscope record -- python train.py");
    expect("nsys profile -t cuda,nvtx,osrt -o run -f true --stats=true python train.py --lr 1",
           "stepscope record --output run.pftrace --stats -- python train.py --lr 1");
    expect("nsys profile --trace=nvtx -- train", "stepscope record --gpu off -- train");
    expect("nsys profile -o run.nsys-rep -w true -x true --sample=none --cpuctxsw=none ./train",
           "stepscope record --output run.pftrace -- ./train");
    expect("nsys profile -d 30 --cuda-graph-trace graph --gpu-metrics-devices=all ./train",
           "stepscope record --gpu light --gpu-metrics 0.0001 --duration 30 -- ./train");
    expect("nsys profile -e A=1,2,B=x,y=z ./train",
           "stepscope record -- env A=1,2 B=x y=z ./train");
    expect_remark("nsys profile -t cuda,osrt ./train", "osrt: calls of the C library");
    expect_remark("nsys profile -d 5 ./train", "the program runs on");
    expect_refusal("nsys profile -t cuda,nvxt ./train", "did you mean \"nvtx\"?");
    expect_refusal("nsys profile --tracing cuda ./train", "--tracing has no translation");
    expect_refusal("nsys profile --trase cuda ./train", "did you mean --trace?");
    expect_refusal("nsys profile --stats yes ./train", "takes true or false");
    expect_refusal("nsys profile -o", "--output needs a value");
}

static void test_other_commands_of_nsys(void **state)
{
    (void)state;
    expect("nsys stats run.pftrace", "stepscope report --stats run.pftrace");
    expect("nsys stats -r cuda_gpu_kern_sum --format csv run.sqlite",
           "stepscope report --by kernel --format csv run.sqlite");
    expect("nsys stats -q run.sqlite -o -", "stepscope report --stats run.sqlite");
    expect("nsys analyze run.sqlite", "stepscope report run.sqlite");
    expect("nsys export -t json -o run.json run.pftrace",
           "stepscope export --to chrome --output run.json run.pftrace");
    expect("nsys status -e", "stepscope doctor");
    expect_refusal("nsys stats -r osrt_sum run.sqlite", "report --help");
    expect_refusal("nsys stats -r nvtx_sum -r gpusum run.sqlite", "given twice");
    expect_refusal("nsys recipe cuda_gpu_kern_sum", "--by rank");
    expect_refusal("nsys start", "stepscope trigger");
    expect_refusal("nsys profil ./train", "profile, stats");
    expect_refusal("nsys", "takes one of profile");
}

static void test_ncu(void **state)
{
    (void)state;
    expect("ncu python train.py", "stepscope kernel --kernel . --count 0 -- python train.py");
    expect("ncu -k regex:gemm.* -s 5 -c 3 --set full -o out ./train",
           "stepscope kernel --kernel 'gemm.*' --skip 5 --count 3 --counters detailed --output "
           "out.pftrace -- ./train");
    expect("ncu -k sgemm(int) -c1 ./train",
           "stepscope kernel --kernel '(^|[^A-Za-z0-9_])sgemm\\(int\\)([^A-Za-z0-9_]|$)' --count 1 "
           "-- ./train");
    expect("ncu --metrics dram__bytes.sum,sm__cycles_active.avg --csv ./train",
           "stepscope kernel --counters dram__bytes.sum,sm__cycles_active.avg --kernel . --count 0 "
           "-- ./train");
    expect("ncu --import run.csv --page raw --csv",
           "stepscope report run.csv --by metric --num-rows all --format csv");
    expect("ncu -i run.csv", "stepscope report run.csv --by metric");
    expect("ncu --query-metrics --chips gh100", "stepscope kernel --list-metrics --chip gh100");
    expect("ncu --list-sets", "stepscope kernel --sets");
    expect_remark("ncu --csv ./train", "--by metric --format csv");
    expect_refusal("ncu --replay-mode range ./train", "record --counters");
    expect_refusal("ncu --kernel-id ::x:2 ./train", "--launch-skip");
}

static void test_py_spy(void **state)
{
    (void)state;
    expect("py-spy record -o prof.svg --pid 4711",
           "stepscope record --output prof.svg --pid 4711 --format flamegraph --no-subprocesses");
    expect(
        "py-spy record -st -r100 -d=5 -f speedscope -- python t.py",
        "stepscope record --subprocesses --threads --rate 100 --duration 5 --format speedscope -- "
        "python t.py");
    expect(
        "py-spy record -n -g -F python t.py",
        "stepscope record --gil --function --format flamegraph --no-subprocesses -- python t.py");
    expect("py-spy dump --pid 4711 -j", "stepscope dump --pid 4711 --json");
    expect_remark("py-spy record --native python t.py", "Python only");
    expect_refusal("py-spy top --pid 4711", "stepscope record -d 10");
    expect_refusal("py-spy dump -l -p 1", "no values of variables");
    expect_refusal("py-spy record -z python t.py", "-z has no translation");
    expect_refusal("py-spy record --gil=1 python t.py", "takes no value");
}

static void test_words_stay_one_word(void **state)
{
    (void)state;
    const char *words[] = {"nsys", "profile", "-o", "a b|%s", "sh", "-c", "echo 'x'; ls", "", NULL};
    struct ss_translation translation;
    struct ss_strbuf line;
    assert_int_equal(ss_translate((char *const *)words, &translation, NULL), SS_OK);
    ss_strbuf_init(&line, 65536);
    ss_translation_append_line(&translation, &line);
    assert_string_equal(line.data, "stepscope record --output 'a b|%s.pftrace' -- sh -c 'echo "
                                   "'\\''x'\\''; ls' ''");
    ss_strbuf_fini(&line);
    ss_translation_fini(&translation);
}

/* --- each option of the table ----------------------------------------------------------------- */

#define NONE NULL
#define VALUE "5"
#define BOOL "true"
static const struct {
    const char *mode, *tool, *word;
} modes[] = {
#define SS_MODE(id, tool, word, command, instead) {#id, tool, word},
#define SS_PROGRAM_MODE SS_MODE
#define SS_ROW(...)
#define SS_WORD(...)
#define SS_ABSENT(...)
#include "cli/line/translation.def"
#undef SS_ROW
#undef SS_WORD
#undef SS_MODE
#undef SS_PROGRAM_MODE
};
#define SS_MODE(...)
#define SS_PROGRAM_MODE(...)

static const struct {
    const char *mode, *name, *value, *action;
    bool takes_any; /* value NULL: any other than the words before it; else NULL: none */
} options[] = {
#define SS_ROW(mode, name, letter, argument, action, text) {#mode, name, argument, #action, false},
#define SS_WORD(mode, name, word, action, text) {#mode, name, word, #action, true},
#include "cli/line/translation.def"
};

/* Only the first of ncu's modes is one of the command line by itself. */
static bool is_reached(const char *mode)
{
    return strcmp(mode, "NCU_IMPORT") != 0 && strcmp(mode, "NCU_METRICS") != 0 &&
           strcmp(mode, "NCU_SETS") != 0;
}

static const struct ss_command *command_of(const char *name)
{
    for (int i = 0; ss_commands[i] != NULL; i++) {
        if (strcmp(ss_commands[i]->name, name) == 0) {
            return ss_commands[i];
        }
    }
    return NULL;
}

/* -1: our command would run. */
static int parse_ours(const struct ss_translation *translation)
{
    struct ss_arguments arguments;
    char *words[MOST_WORDS] = {NULL};
    memcpy(words, translation->words.data, translation->words.count * sizeof *words);
    int status =
        ss_arguments_parse(command_of(words[0]), (int)translation->words.count, words, &arguments);
    ss_arguments_fini(&arguments);
    return status;
}

static void test_each_option_is_one_of_ours_or_refused(void **state)
{
    (void)state;
    size_t translated = 0, refused = 0;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        size_t mode = 0;
        const char *action = options[i].action, *value = options[i].value;
        if (!is_reached(options[i].mode) || strcmp(action, "ONE_OF") == 0 ||
            strcmp(action, "SOME_OF") == 0) {
            continue;
        }
        while (strcmp(modes[mode].mode, options[i].mode) != 0) {
            mode++;
        }
        char text[128];
        snprintf(text, sizeof text, "%s %s --%s %s", modes[mode].tool,
                 modes[mode].word != NULL ? modes[mode].word : "", options[i].name,
                 value != NULL          ? value
                 : options[i].takes_any ? "anything"
                                        : "");
        char *words[MOST_WORDS];
        struct ss_translation translation;
        struct ss_error err = {0};
        split(text, words);
        enum ss_status status = ss_translate(words, &translation, &err);
        bool has_no_name = strcmp(options[i].name, "capture-range") == 0 && value != NULL &&
                           strcmp(value, "nvtx") == 0;
        bool is_refused = strcmp(action, "INSTEAD") == 0 || has_no_name;
        if (status == SS_OK) {
            assert_int_equal(parse_ours(&translation), -1);
            assert_false(is_refused);
            translated++;
        } else {
            assert_true(is_refused);
            assert_non_null(strstr(err.message, "instead: "));
            refused++;
        }
        ss_translation_fini(&translation);
    }
    assert_true(translated > 100 && refused > 15);
}

static void test_the_table_for_people(void **state)
{
    (void)state;
    struct ss_strbuf table;
    ss_strbuf_init(&table, 1 << 18);
    ss_translation_append_table(&table, "nsys");
    assert_non_null(strstr(table.data, "### `nsys profile`\n\nIs `stepscope record`.\n"));
    assert_non_null(strstr(table.data, "| `-d`, `--duration` | `--duration …`; the program runs"));
    assert_non_null(strstr(table.data, "| `-t`, `--trace osrt` | calls of the C library"));
    assert_non_null(strstr(table.data, "| `-y`, `--delay` | `--capture delay:…`"));
    assert_non_null(strstr(table.data, "### `nsys start`\n\nRefused; instead: `stepscope trigger"));
    assert_false(table.overflow);
    ss_strbuf_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nsys_captures),
        cmocka_unit_test(test_nsys_profile),
        cmocka_unit_test(test_other_commands_of_nsys),
        cmocka_unit_test(test_ncu),
        cmocka_unit_test(test_py_spy),
        cmocka_unit_test(test_words_stay_one_word),
        cmocka_unit_test(test_each_option_is_one_of_ours_or_refused),
        cmocka_unit_test(test_the_table_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
