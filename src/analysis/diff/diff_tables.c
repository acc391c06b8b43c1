/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a comparison: the table of a step, and the tables of the registry
 * (analysis/tables/tables.h).
 */
#include <math.h>
#include <string.h>

#include "analysis/diff/diff_parts.h"
#include "base/strbuf.h"

/* --- the step --------------------------------------------------------------------------------- */

enum { STEP_KEYS = 2 }; /* figure, unit */

static const struct ss_column step_columns[STEP_KEYS + SS_COMPARED_COLUMNS] = {
    {.key = "figure"},
    {.key = "unit"},
    [STEP_KEYS + SS_COMPARED_A] = {.key = "a", .unit = "unit of the row"},
    [STEP_KEYS + SS_COMPARED_B] = {.key = "b", .unit = "unit of the row"},
    [STEP_KEYS + SS_COMPARED_CHANGE] = {.key = "change", .unit = "unit of the row"},
    [STEP_KEYS + SS_COMPARED_PERCENT] = {.key = "change_percent", .unit = "percent"},
    [STEP_KEYS + SS_COMPARED_PM] = {.key = "change_pm", .unit = "unit of the row"},
    [STEP_KEYS + SS_COMPARED_SIGNIFICANT] = {.key = "significant"},
    [STEP_KEYS + SS_COMPARED_ONLY_IN] = {.key = "only_in"},
};

static struct ss_cell *add_figure(struct ss_table *table, const char *name, const char *unit,
                                  double a, double b)
{
    bool is_whole = strcmp(unit, "samples/s") != 0;
    struct ss_cell *cells = ss_table_add_row(table);
    double values[] = {a, b, b - a};
    cells[0] = ss_cell_text(ss_strview_of(name));
    cells[1] = unit[0] != '\0' ? ss_cell_text(ss_strview_of(unit)) : (struct ss_cell){0};
    cells += STEP_KEYS;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        cells[SS_COMPARED_A + i] = is_whole && fabs(values[i]) < 9e18
                                       ? ss_cell_integer((int64_t)floor(values[i] + 0.5))
                                       : ss_cell_real(values[i]);
    }
    if (a > 0) {
        cells[SS_COMPARED_PERCENT] = ss_cell_real(100 * (b - a) / a);
    }
    return cells;
}

/* The mean of steady-state steps and outliers: what warm-up leaves. */
static double mean_with_outliers(const struct ss_step_summary *training)
{
    double mean = 0, count = 0;
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        if (step->kind == SS_STEP_STEADY || step->kind == SS_STEP_OUTLIER) {
            count++;
            mean += ((double)(step->end_ns - step->begin_ns) - mean) / count;
        }
    }
    return mean;
}

/* Of one run: those of ranks add up, those of runs do not. */
static double samples_per_s(const struct ss_diff_side *side)
{
    double runs = side->series.runs > 0 ? (double)side->series.runs : 1;
    return side->report.is_diagnosed ? side->report.facts.throughput.samples_per_s / runs : 0;
}

void ss_diff_steps_table(const struct ss_diff *diff, struct ss_table *table)
{
    const struct ss_diff_side *sides[] = {&diff->sides[SS_SIDE_A], &diff->sides[SS_SIDE_B]};
    const struct ss_step_summary *a = &sides[0]->report.training, *b = &sides[1]->report.training;
    *table = (struct ss_table){.name = "step",
                               .title = "Step",
                               .empty_text = "no steady-state steps in both recordings",
                               .columns = step_columns,
                               .column_count = STEP_KEYS + SS_COMPARED_COLUMNS};
    table->comparison.keys = STEP_KEYS;
    table->comparison.measure = "duration_ns";
    table->comparison.per = "step";
    if (!diff->per_step) {
        return;
    }
    struct ss_cell *mean =
        add_figure(table, "mean", "ns", sides[0]->step.mean, sides[1]->step.mean);
    if (diff->result.is_known) {
        const char *is_significant = diff->result.is_significant ? "yes" : "no";
        mean[SS_COMPARED_PM] = ss_error_cell(diff->error_ns);
        mean[SS_COMPARED_SIGNIFICANT] = ss_cell_text(ss_strview_of(is_significant));
    }
    add_figure(table, "p50", "ns", (double)a->p50_ns, (double)b->p50_ns);
    add_figure(table, "p95", "ns", (double)a->p95_ns, (double)b->p95_ns);
    add_figure(table, "max", "ns", (double)a->max_ns, (double)b->max_ns);
    add_figure(table, "mean with outliers", "ns", mean_with_outliers(a), mean_with_outliers(b));
    if (samples_per_s(sides[0]) > 0 && samples_per_s(sides[1]) > 0) {
        add_figure(table, "throughput", "samples/s", samples_per_s(sides[0]),
                   samples_per_s(sides[1]));
    }
    add_figure(table, "steady-state steps", "", (double)a->steady, (double)b->steady);
    add_figure(table, "warm-up steps", "", (double)a->warm_up, (double)b->warm_up);
    add_figure(table, "outliers", "", (double)a->outliers, (double)b->outliers);
}

/* --- tables of the registry ------------------------------------------------------------------- */

static bool is_of_samples(const struct ss_table_kind *kind)
{
    return (kind->accepts & SS_ACCEPTS_SAMPLES) != 0;
}

static bool is_per_step(const struct ss_diff *diff, const struct ss_table_kind *kind)
{
    return diff->per_step && (!is_of_samples(kind) || (diff->sides[SS_SIDE_A].has_within &&
                                                       diff->sides[SS_SIDE_B].has_within));
}

static size_t build(const struct ss_diff *diff, const struct ss_diff_side *side,
                    const struct ss_table_kind *kind, struct ss_table *tables)
{
    const struct ss_table_options options = {
        .sort = kind->sort,
        .full_paths = diff->options->full_paths,
        .is_single = diff->options->is_single,
        .has_errors = true,
        .leaf = {.rule = SS_LIBRARY_OWN_CODE, .aggregate = true},
        .steps = diff->options->steps,
        .source = diff->options->source};
    bool is_within = is_of_samples(kind) && is_per_step(diff, kind);
    struct ss_table_input input = {.selection = is_within ? &side->within : side->report.selection,
                                   .training = &side->report.training,
                                   .options = &options,
                                   .achieved_hz = side->report.trust.all.achieved_hz};
    return kind->build(&input, tables);
}

/* Samples within steps are those of all steps but the first of each process, unless they are few;
 * sums of other tables are over the whole recording. */
static struct ss_compared_table compared(const struct ss_diff *diff,
                                         const struct ss_diff_side *side,
                                         const struct ss_table_kind *kind,
                                         const struct ss_table *table)
{
    const struct ss_step_summary *training = &side->report.training;
    double hz = side->report.trust.all.achieved_hz, divisor = (double)side->runs;
    if (is_per_step(diff, kind)) {
        bool has_first = !is_of_samples(kind) || side->within.has_first_steps;
        size_t first = has_first ? 0 : training->processes;
        divisor = training->steps.count > first ? (double)(training->steps.count - first) : 1;
    }
    return (struct ss_compared_table){
        .table = table, .divisor = divisor, .sample_ns = hz > 0 ? 1e9 / hz : 0};
}

static void add_notes(const struct ss_table *table, struct ss_document *document)
{
    const size_t pm = table->comparison.keys + SS_COMPARED_PM;
    bool has_errors = false;
    for (size_t row = 0; row < table->row_count; row++) {
        has_errors = has_errors || ss_table_cell(table, row, pm)->type != SS_CELL_ABSENT;
    }
    if (table->row_count == 0) {
        ss_sentence_add(ss_document_add_note(document, SS_NOTE_ASIDE),
                        table->empty_text != NULL ? table->empty_text : "no samples");
    } else if (!has_errors) {
        ss_sentence_add(ss_document_add_note(document, SS_NOTE_ASIDE),
                        "how much these vary is not known: a change may be noise");
    }
    if (table->hidden_rows > 0) {
        ss_report_add_hidden_rows(table, document);
    }
}

/* "Hottest functions" → "Functions, per step": those that changed most come first. */
static const char *title_of(const struct ss_table *table, struct ss_arena *arena)
{
    static const char *const superlatives[] = {"Hottest ", "Busiest "};
    const char *per = table->comparison.per;
    struct ss_strbuf title;
    ss_strbuf_init(&title, 1024);
    ss_strbuf_append_text(&title, table->title);
    for (size_t i = 0; i < sizeof superlatives / sizeof *superlatives; i++) {
        size_t length = strlen(superlatives[i]);
        if (strncmp(table->title, superlatives[i], length) == 0) {
            ss_strbuf_clear(&title);
            ss_strbuf_append_text(&title, table->title + length);
            title.data[0] = (char)(title.data[0] - 'a' + 'A');
        }
    }
    if (per != NULL && strcmp(table->name, "step") != 0 && strstr(table->title, per) == NULL) {
        ss_strbuf_append_format(&title, ", per %s", per);
    }
    const char *copy = ss_arena_strndup(arena, title.data, title.length);
    ss_strbuf_fini(&title);
    return copy;
}

void ss_diff_add_table(const struct ss_table *table, struct ss_document *document)
{
    struct ss_block *block = ss_document_add(document, SS_BLOCK_TABLE);
    block->table.title = title_of(table, &document->arena);
    block->table.data = *table;
    add_notes(table, document);
}

enum { DEFAULT_ROWS = 10 };

/* All of what belongs to a step. */
static uint64_t max_rows(const struct ss_diff *diff, const struct ss_table_kind *kind)
{
    bool is_of_step = (kind->needs & SS_NEEDS_STEPS) != 0 && kind->rows == 0;
    return diff->options->has_rows ? diff->options->max_rows : is_of_step ? 0 : DEFAULT_ROWS;
}

/* The tables that a kind has of one recording. */
struct built {
    struct ss_table tables[SS_TABLES_MOST];
    size_t count;
};

static const struct ss_table *find_table(const struct built *built, const char *name)
{
    for (size_t i = 0; i < built->count; i++) {
        if (strcmp(built->tables[i].name, name) == 0) {
            return &built->tables[i];
        }
    }
    return NULL;
}

/* Compares the tables of this name; one that a side lacks has no rows there. */
static void add_one(const struct ss_diff *diff, const struct ss_table_kind *kind,
                    const struct built built[SS_SIDES], const struct ss_table *like, bool is_asked,
                    struct ss_document *document)
{
    const struct ss_compare_options options = {.per_step = is_per_step(diff, kind),
                                               .max_rows = max_rows(diff, kind)};
    struct ss_compared_table sides[SS_SIDES];
    struct ss_table table, none = *like;
    none.row_count = 0;
    for (int i = 0; i < SS_SIDES; i++) {
        const struct ss_table *own = find_table(&built[i], like->name);
        sides[i] = compared(diff, &diff->sides[i], kind, own != NULL ? own : &none);
    }
    if (!ss_compare_tables(sides, &options, &table)) {
        return;
    }
    if (is_asked || table.row_count > 0) {
        ss_diff_add_table(&table, document);
    } else {
        ss_table_fini(&table);
    }
}

static void add_steps(const struct ss_diff *diff, struct ss_document *document)
{
    struct ss_table steps;
    ss_diff_steps_table(diff, &steps);
    ss_diff_add_table(&steps, document);
}

/* Unasked, only the first table of a kind is shown. */
void ss_diff_add_tables(const struct ss_diff *diff, const struct ss_table_kind *kind, bool is_asked,
                        struct ss_document *document)
{
    struct built built[SS_SIDES] = {0};
    if (kind->is_each_step) {
        add_steps(diff, document);
        return;
    }
    for (int i = 0; i < SS_SIDES; i++) {
        built[i].count = build(diff, &diff->sides[i], kind, built[i].tables);
    }
    for (int i = 0; i < SS_SIDES; i++) {
        for (size_t t = 0; t < built[i].count && (t == 0 || is_asked); t++) {
            const struct ss_table *table = &built[i].tables[t];
            if (i == SS_SIDE_A || find_table(&built[SS_SIDE_A], table->name) == NULL) {
                add_one(diff, kind, built, table, is_asked, document);
            }
        }
    }
    for (int i = 0; i < SS_SIDES; i++) {
        for (size_t t = 0; t < built[i].count; t++) {
            ss_table_fini(&built[i].tables[t]);
        }
    }
}
