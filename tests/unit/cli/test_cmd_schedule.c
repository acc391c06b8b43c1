/* SPDX-License-Identifier: Apache-2.0 */
/* `schedule`: the tables that torch.profiler.schedule and Composer's cyclic_schedule gave, each
 * form of the output, and what is refused. */
#include "base/strbuf.h"
#include "json_output.h"

static const char torch_tables[] = SS_TEST_SOURCE_DIR "/tests/golden/schedule/torch.json";
static const char composer_tables[] = SS_TEST_SOURCE_DIR "/tests/golden/schedule/composer.json";

/* --- as the functions of others --------------------------------------------------------------- */

/* Appends "--wait 5 …" for the arguments of a table, and "--format csv". */
static size_t put_options(const json_t *table, const char **words)
{
    size_t count = 0;
    const char *name;
    const json_t *value;
    words[count++] = "stepscope";
    words[count++] = "schedule";
    json_object_foreach((json_t *)json_at(table, "arguments"), name, value)
    {
        char *option = keep_text(malloc(64)), *number = keep_text(malloc(32));
        snprintf(option, 64, "--%s", name);
        for (char *at = option; *at != '\0'; at++) {
            *at = *at == '_' ? '-' : *at;
        }
        snprintf(number, 32, "%lld", json_integer_value(value));
        words[count++] = option;
        words[count++] = number;
    }
    words[count++] = "--format";
    words[count++] = "csv";
    return count;
}

static void test_equals_torch(void **state)
{
    (void)state;
    json_t *golden = parse_json(text_of(torch_tables));
    const json_t *table, *action;
    size_t t, step;
    json_array_foreach(json_at(golden, "tables"), t, table)
    {
        const char *words[24];
        char steps[16];
        struct ss_strbuf wanted;
        size_t count = put_options(table, words);
        snprintf(steps, sizeof steps, "%zu", json_count_at(table, "actions"));
        words[count++] = "--steps";
        words[count++] = steps;
        words[count] = NULL;
        ss_strbuf_init(&wanted, 65536);
        ss_strbuf_append_text(&wanted, "step,action\n");
        json_array_foreach(json_at(table, "actions"), step, action)
        {
            ss_strbuf_append_format(&wanted, "%zu,%s\n", step, json_string_value(action));
        }
        struct ran ran = stepscope_to(-1, words);
        expect_status(&ran, 0);
        assert_string_equal(ran.out, wanted.data);
        ss_strbuf_fini(&wanted);
    }
    assert_true(t > 10);
    json_decref(golden);
}

static void put_lengths(const json_t *table, char *text, size_t size)
{
    size_t at, used = 0;
    const json_t *length;
    json_array_foreach(json_at(table, "lengths"), at, length)
    {
        used += (size_t)snprintf(text + used, size - used, "%s%lld", at > 0 ? "," : "",
                                 json_integer_value(length));
    }
}

static void test_equals_composer(void **state)
{
    (void)state;
    json_t *golden = parse_json(text_of(composer_tables));
    const json_t *table, *row;
    size_t t, r;
    json_array_foreach(json_at(golden, "tables"), t, table)
    {
        const char *words[24];
        char lengths[64], resume_at[16];
        struct ss_strbuf wanted;
        size_t count = put_options(table, words);
        put_lengths(table, lengths, sizeof lengths);
        snprintf(resume_at, sizeof resume_at, "%lld", json_integer_at(table, "resume_at"));
        words[count++] = "--per-epoch";
        words[count++] = lengths;
        words[count++] = "--resume-at";
        words[count++] = resume_at;
        words[count++] = json_is_true(json_at(table, "unknown_length")) ? "--unknown-length" : NULL;
        words[count] = NULL;
        ss_strbuf_init(&wanted, 65536);
        ss_strbuf_append_text(&wanted, "epoch,batch,action\n");
        json_array_foreach(json_at(table, "rows"), r, row)
        {
            ss_strbuf_append_format(&wanted, "%lld,%lld,%s\n", json_integer_at(row, "0"),
                                    json_integer_at(row, "1"), json_text_at(row, "2"));
        }
        struct ran ran = stepscope_to(-1, words);
        expect_status(&ran, 0);
        assert_string_equal(ran.out, wanted.data);
        ss_strbuf_fini(&wanted);
    }
    assert_true(t > 10);
    json_decref(golden);
}

/* --- forms of the input and of the output ----------------------------------------------------- */

static void test_text_form_and_options_agree(void **state)
{
    (void)state;
    const char *text =
        stepscope("schedule", "wait=5,warmup=1,active=3,repeat=2", "--format", "csv").out;
    assert_string_equal(text, stepscope("schedule", "--wait", "5", "--warmup", "1", "--active", "3",
                                        "--repeat", "2", "--format", "csv")
                                  .out);
    assert_string_equal(text, stepscope("schedule", "wait=5,warmup=1,active=9", "--active", "3",
                                        "--repeat", "2", "--format", "csv")
                                  .out);
    assert_string_equal(stepscope("schedule", "per_epoch,active=2", "--per-epoch", "6,6").out,
                        stepscope("schedule", "--active", "2", "--per-epoch", "6,6").out);
}

static void test_json_has_the_windows(void **state)
{
    (void)state;
    json_t *found = parse_json(
        stepscope("schedule", "wait=2,warmup=1,active=3", "--steps", "11", "--format", "json").out);
    json_t *windows = parse_json("[{\"window\": 0, \"first\": 3, \"last\": 5, \"partial\": false},"
                                 "{\"window\": 1, \"first\": 9, \"last\": 10, \"partial\": true}]");
    assert_true(json_equal(json_at(found, "windows"), windows));
    assert_int_equal(json_integer_at(found, "steps"), 11);
    assert_int_equal(json_integer_at(found, "recorded_steps"), 5);
    assert_true(json_is_null(json_at(found, "why_nothing")));
    assert_int_equal(json_integer_at(found, "active"), 3);
    assert_string_equal(json_text_at(found, "counts"), "steps");
    static const char *const actions[] = {"skip", "skip", "warmup", "record"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(json_text_at(json_array_get(json_at(found, "rows"), i), "action"),
                            actions[i]);
    }
    json_decref(windows);
    json_decref(found);
}

/* Where the length is not known, the last batch is not known to be the last. */
static void test_a_window_cut_by_its_epoch_is_partial(void **state)
{
    (void)state;
    json_t *windows =
        parse_json("[{\"window\": 0, \"epoch\": 0, \"first\": 1, \"last\": 2, \"partial\": true},"
                   "{\"window\": 1, \"epoch\": 1, \"first\": 1, \"last\": 4, \"partial\": false}]");
    for (int is_unknown = 0; is_unknown < 2; is_unknown++) {
        json_t *found = parse_json(stepscope("schedule", "--per-epoch", "3,12", "--format", "json",
                                             is_unknown ? "--unknown-length" : NULL)
                                       .out);
        assert_true(json_equal(json_at(found, "windows"), windows));
        assert_int_equal(json_integer_at(found, "rows.2.epoch"), 0);
        assert_int_equal(json_integer_at(found, "rows.2.batch"), 2);
        assert_string_equal(json_text_at(found, "rows.2.action"),
                            is_unknown ? "record" : "record_and_save");
        json_decref(found);
    }
    json_decref(windows);
}

static void test_epochs_without_batches(void **state)
{
    (void)state;
    assert_string_equal(stepscope("schedule", "--per-epoch", "0,3,0,2", "--format", "csv").out,
                        "epoch,batch,action\n1,0,warmup\n1,1,record\n1,2,record_and_save\n"
                        "3,0,warmup\n3,1,record_and_save\n");
    assert_string_equal(
        stepscope("schedule", "--active", "1", "--steps", "0", "--format", "csv").out,
        "step,action\n");
}

static void test_no_window_has_a_reason(void **state)
{
    (void)state;
    static const char why[] =
        "no window was recorded: the run had 4 steps, and the first recorded "
        "one is number 10 (after skip_first=0, wait=9, warmup=0); run longer, "
        "or lower these";
    json_t *found = parse_json(
        stepscope("schedule", "wait=9,active=3", "--steps", "4", "--format", "json").out);
    assert_int_equal(json_count_at(found, "windows"), 0);
    assert_string_equal(json_text_at(found, "why_nothing"), why);
    json_decref(found);
    expect_text(stepscope("schedule", "wait=9,active=3", "--steps", "4").out, why);
    struct ran ran = stepscope("schedule", "wait=9,active=3", "--steps", "4", "--format", "csv");
    expect_text(ran.err, why);
    expect_no_text(ran.out, "no window");
}

static void test_the_text(void **state)
{
    (void)state;
    assert_string_equal(
        stepscope("schedule", "wait=5,warmup=1,active=3,repeat=2", "--steps", "30").out,
        "wait=5,warmup=1,active=3,repeat=2\n"
        "counts the steps of the run, as torch.profiler.schedule does\n\n"
        "       0  .....wrrS.....wrrS............\n\n"
        ". skip   w warmup   r record   S record_and_save\n\n"
        "steps  action           count\n"
        "  0–4  skip                 5\n"
        "    5  warmup               1\n"
        "  6–7  record               2\n"
        "    8  record_and_save      1\n"
        " 9–13  skip                 5\n"
        "   14  warmup               1\n"
        "15–16  record               2\n"
        "   17  record_and_save      1\n"
        "18–29  skip                12\n\n"
        "2 windows, 0 of them partial; 6 of 30 steps recorded\n");
    assert_string_equal(stepscope("schedule", "--per-epoch", "3,12").out,
                        "per_epoch\n"
                        "counts the batches of each epoch, as Composer's cyclic_schedule does\n\n"
                        "epoch 0          0  wrS\n"
                        "epoch 1          0  wrrrS.......\n\n"
                        ". skip   w warmup   r record   S record_and_save\n\n"
                        "epoch  batches  action           count\n"
                        "    0        0  warmup               1\n"
                        "    0        1  record               1\n"
                        "    0        2  record_and_save      1\n"
                        "    1        0  warmup               1\n"
                        "    1      1–3  record               3\n"
                        "    1        4  record_and_save      1\n"
                        "    1     5–11  skip                 7\n\n"
                        "2 windows, 1 of them partial; 6 of 15 steps recorded\n");
}

static void test_long_runs_are_cut(void **state)
{
    (void)state;
    const char *text = stepscope("schedule", "--active", "1", "--steps", "100000").out;
    size_t lines = 0;
    for (const char *at = text; *at != '\0'; at++) {
        lines += *at == '\n';
    }
    /* 40 lines of 100 letters and an ellipsis, 200 rows, and what stands around them. */
    assert_int_equal(lines, 251);
    expect_text(text, "\n  …\n");
    expect_text(text, "\n… and 99800 more rows; --format csv has them all\n");
    expect_text(text, "\n100000 windows, 0 of them partial; 100000 of 100000 steps recorded\n");
}

/* --- what is refused -------------------------------------------------------------------------- */

static void test_what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *words[8];
        const char *message;
    } cases[] = {
        {{"--active", "0"}, "active is 0"},
        {{"--wait", "0", "--warmup", "0", "--active", "0", "--per-epoch", "4"}, "active is 0"},
        {{NULL}, "active is 0"},
        {{"wait=1"}, "active is 0"},
        {{"--active", "-1"}, "active is -1"},
        {{"--active", "1", "--wait", "-1"}, "wait is -1"},
        {{"--active", "1", "--warmup", "-1"}, "warmup is -1"},
        {{"--active", "1", "--repeat", "-1"}, "repeat is -1"},
        {{"--active", "1", "--skip-first", "-1"}, "skip_first is -1"},
        {{"--active", "x"}, "--active takes a whole number"},
        {{"--active", "1", "--steps", "-1"}, "--steps takes a whole number"},
        {{"--active", "1", "--steps", "99999999999"}, "--steps takes a whole number"},
        {{"--per-epoch", ""}, "--per-epoch takes the batches"},
        {{"--per-epoch", "12,"}, "--per-epoch takes the batches"},
        {{"--per-epoch", ",12"}, "--per-epoch takes the batches"},
        {{"--per-epoch", "12;12"}, "--per-epoch takes the batches"},
        {{"--per-epoch", "-1"}, "--per-epoch takes the batches"},
        {{"--per-epoch", "+1"}, "--per-epoch takes the batches"},
        {{"--per-epoch", "9999999,9999999"}, "--per-epoch takes the batches"},
        {{"--per-epoch", "12", "--steps", "3"}, "give one of them"},
        {{"--per-epoch", "12", "--resume-at", "13"},
         "--resume-at takes a whole number from 0 to 12"},
        {{"--active", "1", "--resume-at", "1"}, "--resume-at counts within an epoch"},
        {{"--active", "1", "--unknown-length"}, "--unknown-length counts within an epoch"},
        {{"per_epoch"}, "needs --per-epoch"},
        {{"active=1", "active=2"}, "takes one schedule"},
        {{"active=1,wat=2"}, "\"wat=2\" in the schedule is not known"},
        {{"active=1", "--format", "xml"}, "--format takes one of text, csv, json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *words[12] = {"stepscope", "schedule"};
        memcpy(words + 2, cases[i].words, sizeof cases[i].words);
        struct ran ran = stepscope_to(-1, words);
        expect_usage_error(&ran, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_folder(test_equals_torch),
        in_folder(test_equals_composer),
        in_folder(test_text_form_and_options_agree),
        in_folder(test_json_has_the_windows),
        in_folder(test_a_window_cut_by_its_epoch_is_partial),
        in_folder(test_epochs_without_batches),
        in_folder(test_no_window_has_a_reason),
        in_folder(test_the_text),
        in_folder(test_long_runs_are_cut),
        in_folder(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
