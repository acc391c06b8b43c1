/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "annot/schedule_text.h"
#include "base/terminal.h"
#include "cli/commands/schedule_table.h"
#include "view/output/text_table.h"

enum { MAX_LANE_LINES = 40, MAX_LANE_COLUMNS = 100, MAX_TABLE_ROWS = 200 };

/* The appearance of an action: its letter in the lane, its colours there and in the table. */
static const struct appearance {
    char letter;
    enum ss_style style;
    const char *name;
} appearances[SS_SCHEDULE_ACTION_COUNT] = {
    [SS_SCHEDULE_SKIP] = {'.', SS_STYLE_GREY, "darkgray"},
    [SS_SCHEDULE_WARMUP] = {'w', SS_STYLE_ON_YELLOW, "yellow"},
    [SS_SCHEDULE_RECORD] = {'r', SS_STYLE_ON_GREEN, "green"},
    [SS_SCHEDULE_RECORD_AND_SAVE] = {'S', SS_STYLE_ON_CYAN, "cyan"}};

/* --- the lane: one letter per step --- */

struct lane {
    FILE *out;
    const struct ss_schedule_style *style;
    bool per_epoch;
    int columns, used, lines;
    int64_t epoch;
    int colour; /* action whose colour is on; -1: none */
};

static void end_line(struct lane *lane)
{
    if (lane->colour >= 0) {
        fputs(SS_OFF, lane->out);
    }
    if (lane->used > 0) {
        fputc('\n', lane->out);
    }
    lane->colour = -1;
    lane->used = 0;
}

static bool begin_line(struct lane *lane, const struct ss_schedule_row *row)
{
    end_line(lane);
    if (lane->lines++ == MAX_LANE_LINES) {
        fputs("  …\n", lane->out);
        return false;
    }
    if (lane->per_epoch) {
        fprintf(lane->out, "epoch %-4" PRId64, row->epoch);
    }
    fprintf(lane->out, "%8" PRId64 "  ", row->step);
    lane->epoch = row->epoch;
    return true;
}

static bool print_letter(void *context, const struct ss_schedule_row *row)
{
    struct lane *lane = context;
    bool new_line = lane->used == 0 || lane->used == lane->columns || row->epoch != lane->epoch;
    if (new_line && !begin_line(lane, row)) {
        return false;
    }
    if (lane->style->colour && lane->colour != (int)row->action) {
        fprintf(lane->out, "%s%s", SS_OFF, ss_style(appearances[row->action].style));
        lane->colour = (int)row->action;
    }
    fputc(appearances[row->action].letter, lane->out);
    lane->used++;
    return true;
}

static void print_lane(const struct ss_schedule_plan *plan, const struct ss_schedule_style *style,
                       FILE *out)
{
    int margin = plan->schedule.per_epoch ? 20 : 10;
    int columns = style->width > margin + 10 && style->width - margin < MAX_LANE_COLUMNS
                      ? style->width - margin
                      : MAX_LANE_COLUMNS;
    struct lane lane = {.out = out,
                        .style = style,
                        .per_epoch = plan->schedule.per_epoch,
                        .columns = columns - columns % 10,
                        .colour = -1};
    ss_schedule_plan_walk(plan, print_letter, &lane);
    end_line(&lane);
}

/* --- the table: one row per run of equal actions --- */

enum { EPOCH, STEPS, ACTION, COUNT, COLUMN_COUNT };

struct rows {
    struct ss_text_table table;
    bool per_epoch;
    struct ss_schedule_row first;
    int64_t count, left_out, shown;
};

static void end_row(struct rows *rows)
{
    if (rows->count == 0) {
        return;
    }
    if (rows->shown++ >= MAX_TABLE_ROWS) {
        rows->left_out++;
        return;
    }
    int64_t first = rows->first.step, last = first + rows->count - 1;
    const char *colour = appearances[rows->first.action].name;
    size_t shift = rows->per_epoch ? 0 : 1;
    ss_text_table_add_row(&rows->table, NULL);
    if (rows->per_epoch) {
        ss_text_table_putf(&rows->table, EPOCH, NULL, "%" PRId64, rows->first.epoch);
    }
    if (first == last) {
        ss_text_table_putf(&rows->table, STEPS - shift, NULL, "%" PRId64, first);
    } else {
        ss_text_table_putf(&rows->table, STEPS - shift, NULL, "%" PRId64 "–%" PRId64, first, last);
    }
    ss_text_table_putf(&rows->table, ACTION - shift, colour, "%s",
                       ss_schedule_action_name(rows->first.action));
    ss_text_table_putf(&rows->table, COUNT - shift, NULL, "%" PRId64, rows->count);
}

static bool join_row(void *context, const struct ss_schedule_row *row)
{
    struct rows *rows = context;
    if (rows->count == 0 || row->epoch != rows->first.epoch || row->action != rows->first.action ||
        row->action == SS_SCHEDULE_RECORD_AND_SAVE) {
        end_row(rows);
        rows->first = *row;
        rows->count = 0;
    }
    rows->count++;
    return true;
}

static enum ss_status print_table(const struct ss_schedule_plan *plan,
                                  const struct ss_schedule_style *style, FILE *out,
                                  struct ss_error *err)
{
    static const struct ss_text_column columns[COLUMN_COUNT] = {
        [EPOCH] = {.title = "epoch", .right = true},
        [STEPS] = {.title = "batches", .right = true},
        [ACTION] = {.title = "action"},
        [COUNT] = {.title = "count", .right = true}};
    static const struct ss_text_column without_epoch[COLUMN_COUNT - 1] = {
        {.title = "steps", .right = true}, {.title = "action"}, {.title = "count", .right = true}};
    struct rows rows = {.per_epoch = plan->schedule.per_epoch};
    ss_text_table_init(&rows.table, rows.per_epoch ? columns : without_epoch,
                       rows.per_epoch ? COLUMN_COUNT : COLUMN_COUNT - 1);
    ss_schedule_plan_walk(plan, join_row, &rows);
    end_row(&rows);
    enum ss_status status =
        ss_text_table_print(&rows.table, out, (size_t)style->width, style->colour, err);
    ss_text_table_fini(&rows.table);
    if (rows.left_out > 0) {
        fprintf(out, "… and %" PRId64 " more rows; --format csv has them all\n", rows.left_out);
    }
    return status;
}

enum ss_status ss_schedule_print_text(const struct ss_schedule_plan *plan,
                                      const struct ss_schedule_plan_facts *facts,
                                      const struct ss_schedule_style *style, FILE *out,
                                      struct ss_error *err)
{
    char text[SS_SCHEDULE_TEXT_BYTES];
    ss_schedule_put(&plan->schedule, text, sizeof text);
    fprintf(out, "%s\n%s\n\n", text,
            plan->schedule.per_epoch
                ? "counts the batches of each epoch, as Composer's cyclic_schedule does"
                : "counts the steps of the run, as torch.profiler.schedule does");
    print_lane(plan, style, out);
    fputs("\n. skip   w warmup   r record   S record_and_save\n\n", out);
    SS_TRY(print_table(plan, style, out, err));
    if (facts->windows.count == 0) {
        fprintf(out, "\n%s\n", facts->why_nothing);
        return SS_OK;
    }
    fprintf(out,
            "\n%zu window%s, %" PRId64 " of them partial; %" PRId64 " of %" PRId64
            " steps recorded\n",
            facts->windows.count, facts->windows.count == 1 ? "" : "s", facts->partial,
            facts->recorded, facts->steps);
    return SS_OK;
}
