/* SPDX-License-Identifier: Apache-2.0 */
/* Nsight Compute's tables: kernels, their metrics and units. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/files/importer.h"
#include "model/ncu/ncu_units.h"

#define DETAILS                                                                                    \
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\"," \
    "\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\","             \
    "\"Metric Unit\",\"Metric Value\",\"Rule Name\",\"Rule Type\",\"Rule Description\"\n"
#define ROW(id, kernel, section, metric, unit, value)                                              \
    "\"" id "\",\"42\",\"python3\",\"node7\",\"" kernel "\",\"1\",\"7\",\"(256, 1, 1)\","          \
    "\"(1,024, 2, 1)\",\"0\",\"7.5\",\"" section "\",\"" metric "\",\"" unit "\",\"" value "\",\n"

static struct ss_model model;
static struct ss_error err;

static enum ss_status load_bytes(const char *text, size_t length)
{
    struct ss_import_file file = {.path = "k.csv", .head = text, .head_length = length, .fd = -1};
    struct ss_model_load load = {.size = sizeof load, .quiet = true};
    err = (struct ss_error){0};
    ss_model_fini(&model);
    ss_model_init(&model);
    return ss_importer_ncu.load(&model, &file, &load, &err);
}

static enum ss_status load_text(const char *text)
{
    return load_bytes(text, strlen(text));
}

/* "NAME [UNIT] VALUE" of a metric of the kernel, by its index. */
static const char *metric_text(uint32_t payload, size_t index)
{
    static char text[200];
    size_t at = 0;
    while (at < model.metrics.count && model.metrics.data[at].payload != payload) {
        at++;
    }
    assert_true(at + index < model.metrics.count);
    const struct ss_model_metric *metric = &model.metrics.data[at + index];
    assert_int_equal(metric->payload, payload);
    const struct ss_model_metric_kind *kind = &model.metric_kinds.data[metric->kind];
    char value[60];
    snprintf(value, sizeof value, "%.17g", metric->real);
    snprintf(text, sizeof text, "%s [%s] %s", ss_model_text(&model, kind->name),
             ss_model_text(&model, kind->unit),
             metric->is_text ? ss_model_text(&model, metric->text) : value);
    return text;
}

static int64_t field_of(const struct ss_model_range *range, uint32_t id)
{
    const struct ss_model_field *field = ss_model_field_of(&model, range->payload, id);
    return field != NULL ? (int64_t)field->natural : -1;
}

static const char *name_of(const struct ss_model_range *range)
{
    return ss_model_text(&model, model.names.data[model.paths.data[range->path].name].text);
}

/* --- details ---------------------------------------------------------------------------------- */

static void kernels_have_metrics(void **state)
{
    (void)state;
    assert_int_equal(
        load_text("==PROF== Connected to process 42 (/usr/bin/python3)\n"
                  "a line of the program, \"quoted\n" DETAILS ROW(
                      "0", "void fill<int>(int*, \"\"x\"\")", "Light", "Duration", "us", "1,234.5")
                      ROW("0", "void fill<int>(int*, \"\"x\"\")", "Light", "Memory Throughput", "%",
                          "61.84") ROW("0", "void fill<int>(int*, \"\"x\"\")", "Rules", "", "", "")
                          ROW("0", "void fill<int>(int*, \"\"x\"\")", "Memory", "Memory Throughput",
                              "Gbyte/s", "196.5")
                              ROW("0", "void fill<int>(int*, \"\"x\"\")", "Launch", "Cache", "",
                                  "PreferNone") "==PROF== Disconnected from process "
                                                "42\n" ROW("1", "gemm", "Light", "Duration", "ms",
                                                           "2") "nothing of it\n"),
        SS_OK);
    assert_int_equal(model.ranges.count, 2);
    const struct ss_model_range *first = &model.ranges.data[0];
    assert_string_equal(name_of(first), "void fill<int>(int*, \"x\")");
    assert_int_equal(model.names.data[model.paths.data[first->path].name].type,
                     SS_EVENT_TYPE_kernel);
    assert_int_equal(first->begin_ns, 0);
    assert_int_equal(first->end_ns, 1234500);
    assert_int_equal(model.ranges.data[1].begin_ns, 1234500); /* one behind the other */
    assert_int_equal(model.ranges.data[1].end_ns, 3234500);
    assert_int_equal(field_of(first, SS_EVENT_FIELD_block_x), 256);
    assert_string_equal(metric_text(first->payload, 0), "Duration [ns] 1234500");
    assert_string_equal(metric_text(first->payload, 1), "Memory Throughput [%] 61.840000000000003");
    assert_string_equal(metric_text(first->payload, 2), "Memory Throughput [byte/s] 196500000000");
    assert_string_equal(metric_text(first->payload, 3), "Cache [] PreferNone");
    assert_int_equal(model.metrics.count, 5);
    const struct ss_model_input *input = &model.inputs.data[0];
    assert_true(input->is_untimed);
    assert_int_equal(input->summary.events, 2);
    assert_int_equal(input->skipped.events, 1);
    assert_string_equal(ss_model_text(&model, input->skipped.reason),
                        "a row without the number of a kernel");
    assert_int_equal(model.processes.data[1].pid, 42);
    assert_string_equal(ss_model_text(&model, model.devices.data[1].model),
                        "GPU of compute capability 7.5");
    const struct ss_model_track *track = &model.tracks.data[first->track];
    assert_int_equal(model.streams.data[track->stream].number, 7);
    assert_int_equal(model.contexts.data[field_of(first, SS_EVENT_FIELD_context)].number, 1);
}

/* --- raw -------------------------------------------------------------------------------------- */

#define RAW                                                                                        \
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\"," \
    "\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"device__attribute_display_name\","           \
    "\"dram__bytes.sum\",\"gpu__time_duration.sum\"\n"

static void columns_are_metrics(void **state)
{
    (void)state;
    assert_int_equal(
        load_text(
            "\xef\xbb\xbf" RAW
            "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"Mbyte\","
            "\"usecond\"\n"
            "\"1,000\",\"42\",\"p\",\"h\",\"k\",\"1\",\"7\",\"(8, 8, 1)\",\"(4, 1, 1)\",\"1\","
            "\"8.0\",\"NVIDIA A100\",\"1.5\",\"3\"\n"
            "\"1,001\",\"42\",\"p\",\"h\",\"k\",\"1\",\"7\",\"(8, 8, 1)\",\"(4, 1, 1)\",\"1\","
            "\"8.0\",\"NVIDIA A100\",\"nan\",\"\"\n"),
        SS_OK);
    assert_int_equal(model.ranges.count, 2);
    assert_int_equal(model.ranges.data[0].end_ns, 3000);
    assert_int_equal(model.ranges.data[1].end_ns, 3000); /* its length is unknown */
    assert_string_equal(metric_text(model.ranges.data[0].payload, 1),
                        "dram__bytes.sum [byte] 1500000");
    assert_string_equal(metric_text(model.ranges.data[1].payload, 1), "dram__bytes.sum [byte] nan");
    assert_string_equal(ss_model_text(&model, model.devices.data[1].model), "NVIDIA A100");
    assert_int_equal(model.devices.data[1].number, 1);
    assert_int_equal(field_of(&model.ranges.data[0], SS_EVENT_FIELD_grid_x), 4);
}

static void units_may_be_missing(void **state)
{
    (void)state;
    assert_int_equal(load_text("ID,Process ID,Process Name,Host Name,Kernel Name,a\n0,1,p,h,k,7\n"),
                     SS_OK);
    assert_string_equal(metric_text(model.ranges.data[0].payload, 0), "a [] 7");
    assert_int_equal(model.devices.data[1].number, -1);
}

/* Several tables in one file: each profiler that ended wrote one. */
static void tables_may_follow_each_other(void **state)
{
    (void)state;
    assert_int_equal(load_text(DETAILS ROW("0", "a", "s", "m", "", "1")
                                   DETAILS ROW("0", "b", "s", "m", "", "3")),
                     SS_OK);
    assert_int_equal(model.ranges.count, 2);
    assert_int_equal(model.metric_kinds.count, 2); /* none, and m */
    assert_string_equal(name_of(&model.ranges.data[1]), "b");
}

/* --- units ------------------------------------------------------------------------------------ */

static void units_lose_their_prefix(void **state)
{
    (void)state;
    static const struct {
        const char *unit, *plain;
        double factor;
    } cases[] = {{"", "", 1},
                 {"%", "%", 1},
                 {"Gbyte/s", "byte/s", 1e9},
                 {"byte/second", "byte/s", 1},
                 {"Kbyte/block", "byte/block", 1e3},
                 {"usecond", "ns", 1e3},
                 {"s", "ns", 1e9},
                 {"cycle/nsecond", "cycle/s", 1e9},
                 {"Mhz", "Hz", 1e6},
                 {"hz", "Hz", 1},
                 {"Ghz", "Hz", 1e9},
                 {"register/thread", "register/thread", 1},
                 {"SM", "SM", 1},
                 {"K", "K", 1},
                 {"Mx", "Mx", 1},
                 {"/", "/", 1}};
    struct ss_strbuf plain;
    ss_strbuf_init(&plain, 100);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ss_strbuf_clear(&plain);
        assert_true(ss_ncu_unit(ss_strview_of(cases[i].unit), &plain) == cases[i].factor);
        assert_string_equal(plain.data, cases[i].plain);
    }
    ss_strbuf_fini(&plain);
}

/* --- damage ----------------------------------------------------------------------------------- */

static void hostile_tables_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"no table\n", "without a kernel"},
        {DETAILS, "without a kernel"},
        {DETAILS "\"", "without a kernel"},
        {DETAILS "\"-1\",\"x\",\"\",\"\",\"\"\n", "without a kernel"},
        {"\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Invocations\"\n",
         "--print-summary none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(load_text(cases[i].text), SS_E_FORMAT);
        assert_non_null(strstr(err.message, cases[i].message));
    }
    struct ss_import_file file = {.path = "k", .head = DETAILS, .head_length = 9, .fd = -1};
    struct ss_model_load load = {.quiet = true, .has_time_range = true};
    assert_int_equal(ss_importer_ncu.load(&model, &file, &load, &err), SS_E_USAGE);
}

static void huge_values_are_kept_out_of_times(void **state)
{
    (void)state;
    assert_int_equal(load_text(DETAILS ROW("0", "k", "", "Duration", "s", "1e300")
                                   ROW("0", "k", "", "m", "Gbyte", "1e308")
                                       ROW("1", "k", "", "Duration", "ns", "-5")
                                           ROW("1e300", "k", "", "Duration", "s", "1")),
                     SS_OK);
    assert_int_equal(model.ranges.data[0].end_ns, 0);
    assert_string_equal(metric_text(model.ranges.data[0].payload, 1), "m [byte] 1e308");
    assert_int_equal(model.inputs.data[0].skipped.events, 1);
}

static void a_cut_table_has_what_came_before(void **state)
{
    (void)state;
    static const char first[] = DETAILS ROW("0", "a", "s", "m", "", "1");
    static const char whole[] =
        DETAILS ROW("0", "a", "s", "m", "", "1") ROW("1", "b", "s", "m", "", "2");
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        enum ss_status status = load_bytes(whole, length);
        bool has_first = length >= sizeof first - 1;
        assert_true(status == SS_OK || (status == SS_E_FORMAT && !has_first));
        assert_true(!has_first || model.ranges.count >= 1);
    }
    assert_int_equal(load_bytes(whole, sizeof first + 6), SS_OK);
    assert_true(model.inputs.data[0].skipped.is_cut); /* within quotes */
    assert_int_equal(model.ranges.count, 1);
}

static int fini(void **state)
{
    (void)state;
    ss_model_fini(&model);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_have_metrics),
        cmocka_unit_test(columns_are_metrics),
        cmocka_unit_test(units_may_be_missing),
        cmocka_unit_test(tables_may_follow_each_other),
        cmocka_unit_test(units_lose_their_prefix),
        cmocka_unit_test(hostile_tables_are_refused),
        cmocka_unit_test(huge_values_are_kept_out_of_times),
        cmocka_unit_test(a_cut_table_has_what_came_before),
    };
    return cmocka_run_group_tests(tests, NULL, fini);
}
