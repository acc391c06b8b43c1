/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One answer to which rank is late: over random runs (simulated_run.h), the headline, the findings,
 * the tables and the figures of a report name the same rank and the same wait, the wait is never
 * longer than what the waiting ranks measured, and a planted late rank is named. Without arguments
 * 1,000 runs; `unit_analysis_lateness_property FIRST COUNT`: other ones.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/diagnosis/rules.h"
#include "analysis/ranks/lateness.h"
#include "analysis/report/report.h"
#include "analysis/tables/overview.h"
#include "base/shared_names.h"
#include "simulated_run.h"
#include "view/output/report.h"

/* With fewer steps, chance may explain much. */
enum { RUN_FEWEST_STEPS = 10 };

static uint64_t first_seed = 1, run_count = 1000;

struct made {
    uint64_t seed;
    struct run_shape shape;
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary steps;
    const struct ss_lateness *late;
};

/* What all runs together show. */
struct seen {
    uint64_t verdicts[SS_LATE_ONE + 1], evidence[SS_LATE_BY_DEVICES + 1];
    uint64_t planted, named, healthy, accused, disagreeing;
};

static void begin(struct made *made, const struct run_shape *shape, uint64_t seed)
{
    static const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    static const struct ss_steps_options every = {0};
    *made = (struct made){.seed = seed, .shape = *shape};
    ss_model_init(&made->model);
    run_build(&made->model, shape, seed);
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->steps, &made->selection, &every);
    made->late = ss_steps_lateness(&made->selection, &made->steps);
}

static void end(struct made *made)
{
    ss_step_summary_fini(&made->steps);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

/* What failed, and what the engine says of it. */
static void print_run(const struct made *made)
{
    const struct run_shape *shape = &made->shape;
    const struct ss_late_claim *claim = &made->late->claim;
    print_error("%s by %s: rank %d, %" PRIu64 " of %" PRIu64 " ns, error %g ns\n",
                ss_late_verdict_name(made->late->verdict), ss_late_evidence_name(claim->by),
                claim->row != NULL ? (int)claim->row->rank : -1, claim->wait_ns, claim->of_ns,
                claim->error_ns);
    print_error("run %" PRIu64 ": %u ranks (and %u), %u steps, %u buckets, late %d by %" PRIu64
                " ns in %d, noise %" PRIu64 ", clocks %" PRIu64
                ", lost %u %%, phases %d, devices %d, numbers %d, pairs %d, uneven %d\n",
                made->seed, shape->ranks, shape->others, shape->steps, shape->buckets, shape->late,
                shape->late_ns, (int)shape->place, shape->noise_ns, shape->clock_ns,
                shape->lost_percent, shape->has_phases, shape->is_on_devices, shape->has_numbers,
                shape->has_pairs, shape->has_uneven_steps);
}

#define CHECK(made, condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            print_run(made);                                                                       \
            fail_msg("%s", #condition);                                                            \
        }                                                                                          \
    } while (0)

/* --- what is shown ------------------------------------------------------------------------ */

static void render(ss_report_render *view, const struct ss_document *document, char **text)
{
    struct ss_report_style style = {0};
    size_t length;
    FILE *out = open_memstream(text, &length);
    assert_non_null(out);
    assert_int_equal(view(document, &style, out, NULL), SS_OK);
    fclose(out);
}

static void compose(const struct made *made, const struct ss_table_kind *kind,
                    struct ss_document *document)
{
    struct ss_table_options options = {.max_rows = kind->rows, .sort = kind->sort};
    struct ss_report_options report = {.kind = kind, .table = &options};
    ss_document_init(document);
    ss_report_compose(&made->selection, &report, document);
}

/* The late rank, as a sentence names it: "rank 3 holds up", "rank 3 falls behind by". */
static int64_t named_in(const char *text, const char **at)
{
    static const char *const verbs[] = {" holds up ", " falls behind by "};
    for (const char *rank = strstr(*at != NULL ? *at : text, "rank "); rank != NULL;
         rank = strstr(rank + 1, "rank ")) {
        char *after;
        int64_t number = strtoll(rank + strlen("rank "), &after, 10);
        for (size_t i = 0; i < 2 && after != rank + strlen("rank "); i++) {
            if (strncmp(after, verbs[i], strlen(verbs[i])) == 0) {
                *at = after;
                return number;
            }
        }
    }
    *at = NULL;
    return -1;
}

/* The duration as a sentence writes it. */
static void write_wait(const struct made *made, char *text, size_t size)
{
    struct ss_document document;
    ss_document_init(&document);
    struct ss_sentence *out = &ss_document_add(&document, SS_BLOCK_HEADLINE)->headline;
    *out = ss_sentence_of(&document.arena);
    ss_sentence_add(out, " by ");
    ss_sentence_add_duration(out, made->late->claim.wait_ns);
    char *rendered = NULL;
    render(ss_report_text, &document, &rendered);
    snprintf(text, size, "%.*s", (int)strcspn(rendered, "\n"), rendered);
    free(rendered);
    ss_document_fini(&document);
}

/* Every sentence on the late rank names it, and its wait; without one, there is no such sentence.
 */
static void check_text(const struct made *made, const char *text, bool must_name)
{
    const struct ss_lateness *late = made->late;
    const char *at = NULL;
    bool is_named = false;
    char wait[64];
    write_wait(made, wait, sizeof wait);
    for (int64_t rank; (rank = named_in(text, &at)) >= 0; is_named = true) {
        const char *by = strstr(at, " by ");
        CHECK(made, late->verdict == SS_LATE_ONE);
        CHECK(made, rank == late->claim.row->rank);
        CHECK(made, strncmp(by, wait, strlen(wait)) == 0);
    }
    CHECK(made, is_named || !must_name);
}

static double number_after(const char *text, const char *key)
{
    const char *at = text != NULL ? strstr(text, key) : NULL;
    return at != NULL ? strtod(at + strlen(key), NULL) : -1;
}

/* Of the figures of a report. */
static void check_json(const struct made *made, const char *json)
{
    const struct ss_late_claim *claim = &made->late->claim;
    const char *ranks = strstr(json, "\"ranks\": {");
    const char *key = claim->by == SS_LATE_BY_STAGES ? "\"slower_by_ns\": "
                      : claim->of_ns > 0             ? "\"waits_each_other_step_ns\": "
                                                     : "\"waits_each_other_ns\": ";
    if (made->late->verdict == SS_LATE_ONE) {
        CHECK(made, ranks != NULL);
        CHECK(made, number_after(ranks, "\"slowest_rank\": ") == (double)claim->row->rank);
        CHECK(made, number_after(ranks, key) == (double)claim->wait_ns);
    } else {
        CHECK(made, strstr(json, "\"slowest_rank\"") == NULL);
        CHECK(made, strstr(json, "\"late: rank\"") == NULL);
    }
}

static double evidence_of(const struct ss_finding *finding, const char *what)
{
    for (size_t i = 0; i < finding->evidence_count; i++) {
        if (strcmp(finding->evidence[i].what, what) == 0) {
            return finding->evidence[i].value;
        }
    }
    return -1;
}

static void check_findings(const struct made *made)
{
    const struct ss_lateness *late = made->late;
    const struct ss_late_claim *claim = &late->claim;
    struct ss_training_facts facts;
    struct ss_diagnosis diagnosis;
    bool is_named = false;
    ss_training_facts_init(&facts, &made->selection, &made->steps, NULL);
    ss_diagnosis_init(&diagnosis, &facts);
    for (size_t i = 0; i < diagnosis.findings.count; i++) {
        const struct ss_finding *finding = &diagnosis.findings.data[i];
        double rank = evidence_of(finding, "late: rank");
        bool is_late = strstr(finding->rule->id, "late-rank") != NULL;
        CHECK(made, rank < 0 || (late->verdict == SS_LATE_ONE && is_late));
        if (rank >= 0) {
            is_named = true;
            CHECK(made, rank == (double)claim->row->rank);
            CHECK(made, finding->cost_ns == claim->wait_ns);
            CHECK(made, finding->of_ns == claim->of_ns);
            CHECK(made,
                  evidence_of(finding, "the others wait longer by") == (double)claim->wait_ns);
        }
    }
    bool is_worth_it = late->verdict == SS_LATE_ONE && claim->by != SS_LATE_BY_STAGES &&
                       20 * claim->wait_ns >= claim->of_ns;
    CHECK(made, is_named || !is_worth_it || made->steps.steady == 0);
    ss_diagnosis_fini(&diagnosis);
    ss_training_facts_fini(&facts);
}

static void check_outputs(const struct made *made)
{
    static const char *const tables[] = {"rank", "stage", "collective", "critical-path"};
    struct ss_document document;
    bool is_one = made->late->verdict == SS_LATE_ONE;
    compose(made, &ss_overview, &document);
    char *text = NULL, *json = NULL;
    render(ss_report_text, &document, &text);
    render(ss_report_json, &document, &json);
    check_text(made, text, is_one);
    check_json(made, json);
    free(text);
    free(json);
    ss_document_fini(&document);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const struct ss_table_kind *kind = ss_table_kind_find(tables[i], NULL);
        compose(made, kind, &document);
        bool has_rows = false;
        for (size_t b = 0; b < document.blocks.count; b++) {
            const struct ss_block *block = &document.blocks.data[b];
            has_rows = has_rows || (block->kind == SS_BLOCK_TABLE &&
                                    strcmp(block->table.data.name, tables[i]) == 0 &&
                                    block->table.data.row_count > 0);
        }
        render(ss_report_text, &document, &text);
        check_text(made, text, is_one && has_rows);
        free(text);
        ss_document_fini(&document);
    }
    check_findings(made);
}

/* --- what is right ------------------------------------------------------------------------ */

/* By the ranks that wait: in their collectives, and in their communication. */
static void check_measured(const struct made *made)
{
    const struct ss_rank_profiles *ranks = made->late->ranks;
    const struct ss_late_claim *claim = &made->late->claim;
    double waited_ns = 0, communication_ns = 0, others = (double)ranks->rows.count - 1;
    bool is_known = false;
    if (claim->row == NULL || claim->by == SS_LATE_BY_STAGES) {
        return;
    }
    for (size_t i = 0; i < ranks->rows.count; i++) {
        const struct ss_rank_profile *row = &ranks->rows.data[i];
        if (row != claim->row) {
            uint64_t steps = ranks->steps > 0 ? ranks->steps : 1;
            waited_ns += (double)ranks->waits.ranks[row->process].waited_ns / (double)steps;
            communication_ns += (double)row->communication_ns;
        }
        is_known = is_known || row->communication_ns > 0;
    }
    CHECK(made,
          claim->by != SS_LATE_BY_COLLECTIVES || (double)claim->wait_ns * others <= waited_ns + 1);
    CHECK(made, !is_known || (double)claim->wait_ns * others <= communication_ns + others);
}

/* Whether enough was recorded that the planted rank must be named. Of a pair, both come late to the
 * others, and neither makes them wait alone. */
static bool must_name(const struct run_shape *shape)
{
    bool is_much =
        shape->late != RUN_NO_RANK && shape->late_ns > 8 * shape->noise_ns && !shape->has_pairs;
    bool has_collectives = shape->lost_percent == 0 && shape->clock_ns <= 20 * RUN_US;
    bool has_phases = shape->lost_percent == 0 && shape->has_phases && shape->late_ns > 4 * RUN_MS;
    return is_much && (has_collectives || has_phases) && shape->steps >= RUN_FEWEST_STEPS &&
           !shape->has_uneven_steps;
}

static void count(const struct made *made, struct seen *seen)
{
    const struct ss_lateness *late = made->late;
    const struct run_shape *shape = &made->shape;
    int64_t rank = late->claim.row != NULL ? late->claim.row->rank : RUN_NO_RANK;
    bool is_judged =
        shape->steps >= RUN_FEWEST_STEPS && !shape->has_uneven_steps && shape->lost_percent == 0;
    seen->verdicts[late->verdict]++;
    seen->evidence[late->verdict == SS_LATE_ONE ? late->claim.by : SS_LATE_BY_NOTHING]++;
    seen->disagreeing += ss_lateness_disagrees(late);
    seen->planted += must_name(shape);
    seen->named += must_name(shape) && rank == shape->late;
    seen->healthy += shape->late == RUN_NO_RANK && is_judged;
    seen->accused += shape->late == RUN_NO_RANK && is_judged && late->verdict == SS_LATE_ONE;
    if (must_name(shape)) {
        CHECK(made, rank == shape->late);
    }
}

static void all_outputs_name_one_rank_and_one_wait(void **state)
{
    (void)state;
    struct seen seen = {0};
    for (uint64_t i = 0; i < run_count; i++) {
        struct run_shape shape = run_shape_of(first_seed + i);
        struct made made;
        begin(&made, &shape, first_seed + i);
        check_outputs(&made);
        check_measured(&made);
        count(&made, &seen);
        end(&made);
    }
    print_message(
        "verdicts: alone %" PRIu64 ", unknown %" PRIu64 ", none %" PRIu64 ", varies %" PRIu64
        ", one %" PRIu64 "; by collectives %" PRIu64 ", phases %" PRIu64 ", stages %" PRIu64
        ", devices %" PRIu64 "; %" PRIu64 " disagree; planted %" PRIu64 ", named %" PRIu64
        "; healthy %" PRIu64 ", accused %" PRIu64 "\n",
        seen.verdicts[0], seen.verdicts[1], seen.verdicts[2], seen.verdicts[3], seen.verdicts[4],
        seen.evidence[1], seen.evidence[2], seen.evidence[3], seen.evidence[4], seen.disagreeing,
        seen.planted, seen.named, seen.healthy, seen.accused);
    assert_true(20 * seen.accused <= seen.healthy);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_outputs_name_one_rank_and_one_wait),
    };
    if (argc == 3) {
        first_seed = strtoull(argv[1], NULL, 10);
        run_count = strtoull(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
