/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a recording that is opened for reading: every table and all contents are valid in
 * the Arrow C data interface. The first byte chooses: the bytes as they are, or (bit 0) as the
 * packets of one unit with its right checksum.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../arrow_consumer.h"
#include "arrow/cells.h"
#include "arrow/exported.h"
#include "reading/opened.h"
#include "trace/unit.h"

enum { MAX_INPUT_BYTES = 4096 };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

/* Takes the columns over. */
static void check_columns(struct ss_columns *columns)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    ss_arrow_export_stream(columns, &stream);
    ss_columns_release(columns);
    check(stream.get_schema(&stream, &schema) == 0, "a stream has a schema");
    check(stream.get_next(&stream, &array) == 0, "a stream has an array");
    stream.release(&stream);
    const char *wrong = consumer_check(&schema, &array);
    check(wrong == NULL, wrong);
    schema.release(&schema);
    array.release(&array);
}

static void check_tables(struct ss_opened *opened, const struct ss_query *query)
{
    struct ss_opened_report report;
    struct ss_error err = {0};
    if (ss_opened_tables(opened, query, &report, &err) != SS_OK) {
        check(err.status != SS_E_BUG && err.message[0] != '\0', "an error has a message");
        return;
    }
    for (size_t i = 0; i < report.document.blocks.count; i++) {
        const struct ss_table *table = ss_block_table_for_programs(&report.document.blocks.data[i]);
        if (table != NULL) {
            check_columns(ss_columns_of_table(table));
        }
    }
    ss_opened_report_fini(&report);
}

static void check_recording(const char *path)
{
    struct ss_opened *opened = ss_opened_new(&path, 1, 0);
    for (const struct ss_row_kind *kind = ss_row_kinds; kind->id != NULL; kind++) {
        struct ss_columns *columns;
        struct ss_query all = {0};
        if (ss_opened_contents(opened, &all, kind->id, &columns, NULL) == SS_OK) {
            check_columns(columns);
        }
    }
    check_tables(opened, &(struct ss_query){0});
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        check_tables(opened, &(struct ss_query){.table = kind->id, .columns = kind->columns});
    }
    ss_opened_free(opened);
}

static void put_bytes(int file, const void *bytes, size_t length)
{
    check(write(file, bytes, length) == (ssize_t)length, "memory takes the bytes");
}

static void put_unit(int file, const uint8_t *plain, size_t length)
{
    struct ss_unit_seal seal = {.period = 1, .restart = true, .sealed = true};
    struct ss_unit unit = {0};
    ss_wire_put_raw(&unit.plain, plain, length);
    ss_unit_frame(&unit, &seal, NULL);
    put_bytes(file, unit.stored.data, unit.stored.length);
    ss_unit_fini(&unit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    if (size < 2 || size > MAX_INPUT_BYTES) {
        return 0;
    }
    int file = memfd_create("recording", MFD_CLOEXEC);
    check(file >= 0, "there is memory for a file");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if ((data[0] & 1) != 0) {
        put_unit(file, data + 1, size - 1);
    } else {
        put_bytes(file, data + 1, size - 1);
    }
    check_recording(path);
    close(file);
    return 0;
}
