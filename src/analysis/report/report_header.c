/* SPDX-License-Identifier: Apache-2.0 */
/* What was recorded, how faithfully, and how the samples add up. */
#include <string.h>

#include "analysis/report/report_parts.h"

/* --- problems --------------------------------------------------------------------------------- */

static void add_reason(struct ss_sentence *out, const char *reason)
{
    if (reason[0] != '\0') {
        ss_sentence_add(out, ": ");
        ss_sentence_add_name(out, ss_strview_of(reason));
    }
}

/* ": rank 3 of 8: no event, only names" */
static void add_no_events(const struct ss_trust_problem *problem, struct ss_sentence *out)
{
    if (problem->has_rank) {
        ss_sentence_add(out, ": rank ");
        ss_sentence_add_number(out, problem->rank);
        if (problem->world_size > 0) {
            ss_sentence_add(out, " of ");
            ss_sentence_add_number(out, problem->world_size);
        }
    }
    ss_sentence_add(out, ": no event, only names");
}

void ss_trust_problem_add(const struct ss_trust_problem *problem, struct ss_sentence *out)
{
    ss_sentence_add_name(out, ss_strview_of(problem->input));
    switch (problem->kind) {
    case SS_PROBLEM_UNSEALED:
        ss_sentence_add(out, " was not closed: the recorder was killed or still writes it; up to a "
                             "second of samples is missing");
        return;
    case SS_PROBLEM_DAMAGED:
        ss_sentence_add(out, " is damaged from byte ");
        ss_sentence_add_number(out, (int64_t)problem->offset);
        ss_sentence_add(out, ", ");
        ss_sentence_add_number(out, (int64_t)problem->lost_bytes);
        ss_sentence_add(out, " bytes are lost");
        break;
    case SS_PROBLEM_CUT:
        ss_sentence_add(out, " ends within its events: what follows is missing");
        return;
    case SS_PROBLEM_FAILED:
        ss_sentence_add(out, ": recording failed");
        break;
    case SS_PROBLEM_UNAVAILABLE:
        ss_sentence_add(out, ": Python could not be sampled");
        break;
    case SS_PROBLEM_NO_SAMPLES:
        ss_sentence_add(out, " holds no samples");
        break;
    case SS_PROBLEM_NO_EVENTS:
        add_no_events(problem, out);
        return;
    case SS_PROBLEM_MISSING_RANKS:
        ss_sentence_add(out, ": nothing was recorded of ranks ");
        ss_sentence_add(out, problem->reason);
        return;
    }
    add_reason(out, problem->reason);
}

/* --- rows ------------------------------------------------------------------------------------- */

struct header {
    struct ss_arena *arena;
    struct ss_block *block;
    const char *key; /* of the row whose facts are being added */
    bool is_open;
};

static void begin_row(struct header *header, const char *key)
{
    header->key = key;
    header->is_open = false;
}

/* A row exists only with a fact. */
static struct ss_sentence *add_fact(struct header *header, enum ss_fact_joint joint)
{
    if (!header->is_open) {
        ss_vec_push_zero(&header->block->header);
        header->block->header.data[header->block->header.count - 1].key = header->key;
        header->is_open = true;
    }
    struct ss_header_row *row = &header->block->header.data[header->block->header.count - 1];
    ss_vec_push_zero(&row->facts);
    struct ss_header_fact *fact = &row->facts.data[row->facts.count - 1];
    fact->joint = joint;
    fact->text = ss_sentence_of(header->arena);
    return &fact->text;
}

static struct ss_sentence *add_item(struct header *header)
{
    return add_fact(header, SS_JOINT_ITEM);
}

static void add_words(struct header *header, const char *words)
{
    ss_sentence_add(add_item(header), words);
}

static void add_text(struct header *header, const char *before, const char *text)
{
    if (text[0] != '\0') {
        struct ss_sentence *fact = add_item(header);
        ss_sentence_add(fact, before);
        ss_sentence_add_name(fact, ss_strview_of(text));
    }
}

static void add_count(struct header *header, enum ss_fact_joint joint, uint64_t count,
                      const char *what)
{
    struct ss_sentence *fact = add_fact(header, joint);
    ss_sentence_add_count(fact, count);
    ss_sentence_add(fact, " ");
    ss_sentence_add(fact, what);
}

static void add_noun(struct header *header, uint64_t count, const char *singular,
                     const char *plural)
{
    add_count(header, SS_JOINT_ITEM, count, count == 1 ? singular : plural);
}

static void add_share(struct header *header, const char *what, uint64_t part, uint64_t whole)
{
    struct ss_sentence *fact = add_item(header);
    ss_sentence_add(fact, what);
    ss_sentence_add(fact, " ");
    ss_sentence_add_count(fact, part);
    if (part > 0 && whole > 0) {
        ss_sentence_add(fact, " (");
        ss_sentence_add_share(fact, 100 * (double)part / (double)whole);
        ss_sentence_add(fact, ")");
    }
}

static void add_trace_facts(struct header *header, const struct ss_trust_input *all)
{
    add_text(header, "", all->command);
    add_text(header, "on ", all->hostname);
    if (all->start_unix_ns > 0) {
        ss_sentence_add_time(add_item(header), all->start_unix_ns);
    }
    if (all->duration_s > 0) {
        struct ss_sentence *fact = add_item(header);
        ss_sentence_add_decimal(fact, all->duration_s, all->duration_s < 100 ? 2 : 0);
        ss_sentence_add(fact, " s");
    }
    add_text(header, "", all->runtime);
    if (strcmp(all->torch_route, "preload") != 0) {
        add_text(header, "torch detected by ", all->torch_route);
    }
}

/* "3 of 4 ranks of run 77.0, started by srun". */
static void add_runs(struct header *header, const struct ss_model *model)
{
    for (size_t i = 0; i < model->runs.count; i++) {
        const struct ss_model_run *run = &model->runs.data[i];
        struct ss_sentence *fact = add_item(header);
        ss_sentence_add_count(fact, run->found);
        if (run->world_size > 0) {
            ss_sentence_add(fact, " of ");
            ss_sentence_add_count(fact, run->world_size);
        }
        ss_sentence_add(fact, run->world_size == 1 ? " rank" : " ranks");
        if (run->run_id != 0) {
            ss_sentence_add(fact, " of run ");
            ss_sentence_add_name(fact, ss_intern_get(&model->strings, run->run_id));
        }
        if (run->launcher != 0 && !run->is_of_nodes) {
            ss_sentence_add(fact, ", started by ");
            ss_sentence_add_name(fact, ss_intern_get(&model->strings, run->launcher));
        }
    }
}

static void add_recorded(struct header *header, const struct ss_trust *trust)
{
    const struct ss_trust_input *all = &trust->all;
    add_runs(header, trust->selection->model);
    if (trust->inputs.count > 1) {
        add_noun(header, trust->inputs.count, "file", "files");
    }
    if (all->kind == SS_INPUT_TRACE) {
        add_trace_facts(header, all);
    } else if (all->kind == SS_INPUT_IMPORT) {
        add_text(header, "by ", all->tool);
        add_trace_facts(header, all);
        if (all->is_untimed) {
            add_words(header,
                      all->events > 0 ? "durations without begin times" : "weights without times");
        }
    } else {
        add_words(header, "py-spy raw file: no times, states or losses in it");
        add_noun(header, all->lines, "line", "lines");
        if (all->skipped_lines > 0) {
            add_count(header, SS_JOINT_ITEM, all->skipped_lines, "unreadable and skipped");
        }
    }
    if (all->processes > 1 || all->threads > 1) {
        add_noun(header, all->processes, "process", "processes");
        add_noun(header, all->threads, "thread", "threads");
    }
}

static void add_sampling(struct header *header, const struct ss_trust_input *all)
{
    begin_row(header, "Sampling");
    if (all->kind == SS_INPUT_IMPORT && all->requested_hz > 0) {
        struct ss_sentence *fact = add_item(header);
        ss_sentence_add(fact, "a sample is ");
        ss_sentence_add_duration(fact, (uint64_t)(1e9 / all->requested_hz + 0.5));
    } else if (all->unit[0] != '\0') {
        add_text(header, "samples count ", all->unit);
    } else if (all->requested_hz > 0) {
        struct ss_sentence *fact = add_item(header);
        ss_sentence_add_figure(fact, all->requested_hz, 6);
        ss_sentence_add(fact, " Hz requested");
    }
    if (all->achieved_hz > 0) {
        struct ss_sentence *fact = add_item(header);
        if (all->achieved_hz < 1000) {
            ss_sentence_add_figure(fact, all->achieved_hz, 4);
        } else {
            ss_sentence_add_decimal(fact, all->achieved_hz, 0);
        }
        ss_sentence_add(fact, " Hz achieved");
    }
    if (!all->has_counts) {
        return;
    }
    add_share(header, "late", all->late, all->done);
    add_share(header, "skipped", all->skipped, all->due);
    begin_row(header, "Stacks");
    add_share(header, "partial", all->partial, all->seen);
    add_share(header, "lost", all->lost, all->seen);
    add_share(header, "dropped", all->dropped, all->seen);
    if (all->processes_short > 0) {
        add_count(header, SS_JOINT_ITEM, all->processes_short, "processes too short to sample");
    }
}

/* Of another tool's file. */
static void add_imported_events(struct header *header, const struct ss_trust_input *all)
{
    begin_row(header, "Events");
    add_count(header, SS_JOINT_NONE, all->events, "read");
    if (all->skipped_events > 0) {
        add_count(header, SS_JOINT_ITEM, all->skipped_events, "skipped");
        if (all->skip_reason[0] != '\0') {
            struct ss_sentence *fact = add_item(header);
            ss_sentence_add(fact, "the first");
            if (all->skipped_offset > 0) { /* files of tables have no places */
                ss_sentence_add(fact, " at byte ");
                ss_sentence_add_number(fact, (int64_t)all->skipped_offset);
            }
            add_reason(fact, all->skip_reason);
        }
    }
}

static void add_events(struct header *header, const struct ss_trust_input *all)
{
    if (all->kind == SS_INPUT_IMPORT && all->events + all->skipped_events > 0) {
        add_imported_events(header, all);
    } else if (all->kind != SS_INPUT_IMPORT && all->events > 0) {
        begin_row(header, "Events");
        add_count(header, SS_JOINT_NONE, all->events, "marked by the program");
        add_share(header, "dropped", all->events_dropped, all->events);
    }
}

void ss_report_add_lost_kernels(const struct ss_trust *trust, struct ss_sentence *out)
{
    bool all_at_end = trust->lost_at_end == trust->lost_kernels;
    if (trust->lost_kernels == 0) {
        return;
    }
    ss_sentence_add(out, all_at_end && trust->lost_kernels < trust->launches ? "the last " : "");
    ss_sentence_add_count(out, trust->lost_kernels);
    ss_sentence_add(out, " of ");
    ss_sentence_add_count(out, trust->launches);
    ss_sentence_add(out, " launch");
    ss_sentence_add(out, trust->launches == 1 ? "" : "es");
    ss_sentence_add(out, trust->lost_kernels == 1 ? " has no kernel" : " have no kernel");
    ss_sentence_add(out, trust->inputs.count > 1 ? " in the files" : " in the file");
}

/* All losses, also those that are 0: nothing was lost. Of other tools' files, which do not count
 * them, what is missing. */
static void add_devices(struct header *header, const struct ss_trust *trust)
{
    const struct ss_trust_input *all = &trust->all;
    static const char *const words[SS_TRUST_DEVICE_COUNTS] = {
        [SS_TRUST_KERNELS] = "kernels",
        [SS_TRUST_DROPPED_RECORDS] = "records dropped",
        [SS_TRUST_REFUSED_BUFFERS] = "buffers refused",
        [SS_TRUST_UNTIMED_KERNELS] = "works without times",
        [SS_TRUST_UNRECORDED_KERNELS] = "launches without a kernel",
        [SS_TRUST_LOST_RECORDS] = "records lost",
        [SS_TRUST_EARLY_WORKS] = ("works begin before their launch: the times of the device are "
                                  "wrong")};
    begin_row(header, "Devices");
    if (!all->has_device_counts && trust->lost_kernels > 0) {
        ss_report_add_lost_kernels(trust, add_item(header));
    }
    if (all->has_device_counts) {
        for (int count = 0; count < SS_TRUST_DEVICE_COUNTS; count++) {
            if (count != SS_TRUST_EARLY_WORKS || all->device_counts[count] > 0) {
                add_count(header, count == 0 ? SS_JOINT_NONE : SS_JOINT_ITEM,
                          all->device_counts[count], words[count]);
            }
        }
    }
}

static void add_overhead(struct header *header, const struct ss_overhead *overhead)
{
    begin_row(header, "Overhead");
    if (overhead->recorder_cpu_ns > 0) {
        struct ss_sentence *fact = add_fact(header, SS_JOINT_NONE);
        ss_sentence_add(fact, "recorder ");
        ss_sentence_add_share(fact, 100 * ss_overhead_recorder_share(overhead));
        ss_sentence_add(fact, " of a core");
    }
    if (overhead->recorder_bytes > 0) {
        ss_sentence_add_bytes(add_fact(header, SS_JOINT_COMMA), (double)overhead->recorder_bytes);
    }
    if (overhead->operators > 0) {
        struct ss_sentence *fact = add_item(header);
        ss_sentence_add(fact, "operators about ");
        ss_sentence_add_share(fact, 100 * ss_overhead_operators_share(overhead));
        ss_sentence_add(fact, " of their thread (");
        ss_sentence_add_count(fact, overhead->operators);
        ss_sentence_add(fact, " of ");
        ss_sentence_add_number(fact, (int64_t)overhead->operator_ns);
        ss_sentence_add(fact, " ns each)");
    }
    if (overhead->hooks_ppm > 0) {
        struct ss_sentence *fact = add_item(header);
        ss_sentence_add(fact, "hooks of Python calls ");
        ss_sentence_add_share(fact, 100 * ss_overhead_hooks_share(overhead));
        ss_sentence_add(fact, " of the training thread (");
        ss_sentence_add_duration(fact, overhead->hooks_ns);
        ss_sentence_add(fact, " per step)");
    }
}

/* What is in full, and what is summed: nothing to say of short recordings. */
static void add_detail(struct header *header, const struct ss_trust *trust)
{
    begin_row(header, "Detail");
    if (trust->sums_ranges) {
        add_words(header,
                  "the file reached its size (record --max-size): from then on, ranges that "
                  "the program marks are sums");
    }
    if (trust->summed_steps == 0) {
        return;
    }
    struct ss_sentence *fact = add_item(header);
    ss_sentence_add(fact, "operators, modules and work of devices in full in ");
    ss_sentence_add_count(fact, trust->steps - trust->summed_steps);
    ss_sentence_add(fact, " of ");
    ss_sentence_add_count(fact, trust->steps);
    ss_sentence_add(fact, " steps");
    if (trust->outstanding_steps > 0) {
        ss_sentence_add(fact, " (");
        ss_sentence_add_count(fact, trust->outstanding_steps);
        ss_sentence_add(fact, " that stood out)");
    }
    add_words(header, "sums of operators and modules in the others");
    add_words(header, "steps, phases, samples and metrics in all");
}

static void add_left_out(struct header *header, const struct ss_trust *trust)
{
    begin_row(header, "Left out");
    for (size_t i = 0; i < trust->left_out.count; i++) {
        struct ss_sentence *fact = add_item(header);
        ss_sentence_add_name(fact, ss_strview_of(trust->left_out.data[i].source));
        add_reason(fact, trust->left_out.data[i].reason);
    }
}

static bool has_no_clock(const struct ss_trust_input *input)
{
    return input->kind != SS_INPUT_RAW && !input->is_untimed &&
           input->clock.mapping == SS_CLOCK_UNMAPPED;
}

/* Of several files: those whose times count from their own start. */
static void add_clocks(struct header *header, const struct ss_trust *trust)
{
    enum { SHOWN = 3 };
    uint64_t count = 0;
    begin_row(header, "Clocks");
    for (size_t i = 0; i < trust->inputs.count && trust->inputs.count > 1; i++) {
        if (has_no_clock(&trust->inputs.data[i]) && count++ < SHOWN) {
            ss_sentence_add_name(add_fact(header, SS_JOINT_COMMA),
                                 ss_strview_of(trust->inputs.data[i].path));
        }
    }
    if (count > SHOWN) {
        add_count(header, SS_JOINT_COMMA, count - SHOWN, "more");
    }
    if (count > 0) {
        add_words(header, "no clock in the file: times count from its own start and cannot be "
                          "compared with the others");
    }
}

/* What the tool of an import warned of: the user should know it before trusting the tables. */
static void add_warnings(struct header *header, const struct ss_trust *trust)
{
    enum { SHOWN = 5 };
    uint64_t more = trust->more_warnings;
    begin_row(header, "Warnings");
    for (size_t i = 0; i < trust->warnings.count; i++) {
        const struct ss_trust_warning *warning = &trust->warnings.data[i];
        if (i >= SHOWN) {
            more += warning->count;
            continue;
        }
        struct ss_sentence *fact = add_item(header);
        ss_sentence_add(fact, i == 0 ? "by the profiler: " : "");
        ss_sentence_add(fact, warning->is_error ? "error: " : "");
        ss_sentence_add_name(fact, ss_strview_of(warning->text));
        if (warning->count > 1) {
            ss_sentence_add(fact, " (");
            ss_sentence_add_count(fact, warning->count);
            ss_sentence_add(fact, " times)");
        }
    }
    if (more > 0) {
        add_count(header, SS_JOINT_ITEM, more, "more: --format json has them");
    }
}

/* recorded = shown + what each reason excludes: the numbers add up. */
static void add_samples(struct header *header, const struct ss_trust *trust)
{
    const struct ss_selection *selection = trust->selection;
    if (trust->all.kind == SS_INPUT_IMPORT && selection->recorded == 0) {
        return;
    }
    begin_row(header, "Samples");
    if (trust->why_no_samples != NULL && trust->why_no_samples[0] != '\0') {
        add_text(header, "none: ", trust->why_no_samples);
        return;
    }
    const struct {
        uint64_t count;
        const char *what;
    } excluded[] = {{selection->idle, "idle"},
                    {selection->no_gil, "without the GIL"},
                    {selection->filtered, "filtered"},
                    {selection->frameless, "without frames"}};
    add_count(header, SS_JOINT_NONE, selection->recorded, "recorded");
    add_count(header, SS_JOINT_EQUALS, selection->shown, "shown");
    for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++) {
        if (excluded[i].count > 0) {
            add_count(header, SS_JOINT_PLUS, excluded[i].count, excluded[i].what);
        }
    }
}

/* A repaired file is readable but incomplete. */
static void add_repairs(struct header *header, const struct ss_trust_input *all)
{
    if (all->repaired_places > 0) {
        begin_row(header, "Repaired");
        add_count(header, SS_JOINT_NONE, all->repaired_places,
                  all->repaired_places == 1 ? "damaged place left out" : "damaged places left out");
        add_count(header, SS_JOINT_ITEM, all->repaired_bytes, "bytes of samples are missing");
    }
}

static void add_problems(struct header *header, const char *key, const struct ss_trust *trust)
{
    for (size_t i = 0; i < trust->problems.count; i++) {
        begin_row(header, i == 0 ? key : "");
        ss_trust_problem_add(&trust->problems.data[i], add_item(header));
    }
}

/* --- blocks ----------------------------------------------------------------------------------- */

void ss_report_add_title(const struct ss_trust *trust, struct ss_document *document)
{
    struct ss_block *block = ss_document_add(document, SS_BLOCK_TITLE);
    block->title.what = "stepscope report";
    block->title.of = ss_sentence_of(&document->arena);
    if (trust->inputs.count > 0) {
        ss_sentence_add_name(&block->title.of, ss_strview_of(trust->inputs.data[0].path));
    }
    if (trust->inputs.count > 1) {
        ss_sentence_add(&block->title.of, " and ");
        ss_sentence_add_number(&block->title.of, (int64_t)trust->inputs.count - 1);
        ss_sentence_add(&block->title.of, " more");
    }
}

void ss_report_add_header(const struct ss_trust *trust, struct ss_document *document)
{
    struct header header = {.arena = &document->arena,
                            .block = ss_document_add(document, SS_BLOCK_HEADER)};
    begin_row(&header, "Recorded");
    add_recorded(&header, trust);
    add_sampling(&header, &trust->all);
    add_events(&header, &trust->all);
    add_devices(&header, trust);
    add_overhead(&header, &trust->all.overhead);
    add_detail(&header, trust);
    add_left_out(&header, trust);
    add_clocks(&header, trust);
    add_warnings(&header, trust);
    add_samples(&header, trust);
    add_repairs(&header, &trust->all);
    add_problems(&header, "Beware", trust);
}

void ss_report_add_recording(const char *key, const struct ss_trust *trust, struct ss_arena *arena,
                             struct ss_block *block)
{
    struct header header = {.arena = arena, .block = block};
    begin_row(&header, key);
    if (trust->inputs.count > 0) {
        add_text(&header, "", trust->inputs.data[0].path);
    }
    add_recorded(&header, trust);
}

void ss_report_add_problems(const char *key, const struct ss_trust *trust, struct ss_arena *arena,
                            struct ss_block *block)
{
    struct header header = {.arena = arena, .block = block};
    add_problems(&header, key, trust);
}
