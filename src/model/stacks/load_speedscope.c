/* SPDX-License-Identifier: Apache-2.0 */
/* Files of speedscope's format, as py-spy, pyinstrument, rbspy, austin and others write them.
 * Streamed: of the file, one block is in memory, beside the numbers of its samples. */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "model/files/importer.h"
#include "model/files/json_window.h"
#include "model/stacks/speedscope_rows.h"

static enum ss_status load_speedscope(struct ss_model *model, const struct ss_import_file *file,
                                      const struct ss_model_load *load, struct ss_error *err)
{
    struct ss_json_window window;
    struct ss_speedscope_file content;
    ss_json_window_init(&window, file, load);
    ss_speedscope_file_init(&content);
    ss_speedscope_file_read(&content, &window);
    enum ss_status status = ss_import_window_refused(&window.bytes, err);
    if (status == SS_OK) {
        status = ss_speedscope_rows_add(model, &content, &window, load, err);
    }
    if (status == SS_OK && !load->quiet) {
        ss_import_window_report(&window.bytes);
    }
    ss_speedscope_file_fini(&content);
    ss_json_window_fini(&window);
    return status;
}

static bool has_text(const char *head, size_t length, const char *text)
{
    return memmem(head, length, text, strlen(text)) != NULL;
}

static enum ss_import_match probe_speedscope(const char *head, size_t length)
{
    struct ss_json_cursor cursor = {head, head + length};
    if (ss_json_peek(&cursor) != SS_JSON_OBJECT) {
        return SS_IMPORT_NO;
    }
    bool has_profiles = has_text(head, length, "\"profiles\"");
    bool has_type = has_text(head, length, "\"sampled\"") || has_text(head, length, "\"evented\"");
    bool has_frames = has_text(head, length, "\"shared\"") && has_text(head, length, "\"frames\"");
    return has_text(head, length, "speedscope.app/file-format-schema.json") ? SS_IMPORT_CERTAIN
           : (has_profiles && has_type) || has_frames                       ? SS_IMPORT_LIKELY
                                                                            : SS_IMPORT_NO;
}

const struct ss_importer ss_importer_speedscope = {
    .name = "speedscope",
    .summary = "profiles of py-spy and other tools in speedscope's format",
    .kind = SS_INPUT_IMPORT,
    .probe = probe_speedscope,
    .load = load_speedscope};
