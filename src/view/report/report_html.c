/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as one file that a browser shows: the blocks as JSON, and the scripts and styles of
 * page/, which the build embeds. Its policy allows these scripts by their hash and no request. The
 * text report stands in for it where no scripts run.
 */
#include <jansson.h>
#include <string.h>

#include "base/version.h"
#include "view/output/report.h"
#include "view/output/sentence_text.h"
#include "view/output/sink.h"
#include "view/output/text_cell.h"
#include "view/report/report_page.h"

enum {
    MAX_PAGE_BYTES = 5 * 1000 * 1000,
    MAX_TEXT_REPORT_BYTES = 200 * 1000,
    MAX_TITLE_BYTES = 300
};
enum { HASH_BYTES = 32, HASH_TEXT_BYTES = 45, SCHEMA = 1 };

/* Name, text and hash of each file; then NULL. */
extern const char *const ss_page_sheets[], *const ss_page_scripts[];

/* --- the policy ------------------------------------------------------------------------------- */

static unsigned digit_of(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Base64 of a hash in hexadecimal, which has two bytes in its last group. */
static void encode_hash(const char *hex, char out[HASH_TEXT_BYTES])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t used = 0;
    for (size_t i = 0; i < HASH_BYTES; i += 3) {
        unsigned group = 0;
        for (size_t b = i; b < i + 3; b++) {
            group = group << 8 |
                    (b < HASH_BYTES ? digit_of(hex[2 * b]) << 4 | digit_of(hex[2 * b + 1]) : 0);
        }
        for (int shift = 18; shift >= 0; shift -= 6) {
            out[used++] = digits[group >> shift & 63];
        }
    }
    out[used - 1] = '=';
    out[used] = '\0';
}

static void append_hashes(const char *directive, const char *const *files, struct ss_strbuf *out)
{
    ss_strbuf_append_format(out, "; %s", directive);
    for (; *files != NULL; files += 3) {
        char hash[HASH_TEXT_BYTES];
        encode_hash(files[2], hash);
        ss_strbuf_append_format(out, " 'sha256-%s'", hash);
    }
}

/* --- the parts -------------------------------------------------------------------------------- */

static void append_escaped(struct ss_strbuf *out, struct ss_strview text)
{
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        switch (c) {
        case '<':
            ss_strbuf_append_text(out, "&lt;");
            break;
        case '>':
            ss_strbuf_append_text(out, "&gt;");
            break;
        case '&':
            ss_strbuf_append_text(out, "&amp;");
            break;
        default:
            ss_strbuf_append_char(out, c);
        }
    }
}

/* "stepscope report: python train.py" */
static void append_title(const struct ss_document *document, struct ss_strbuf *out)
{
    struct ss_strbuf title, cut;
    ss_strbuf_init(&title, MAX_PAGE_BYTES);
    ss_strbuf_init(&cut, MAX_PAGE_BYTES);
    for (size_t i = 0; i < document->blocks.count && title.length == 0; i++) {
        const struct ss_block *block = &document->blocks.data[i];
        if (block->kind == SS_BLOCK_TITLE) {
            ss_strbuf_append_format(&title, "%s: ", block->title.what);
            ss_sentence_append_clean(&block->title.of, &title);
        }
    }
    ss_text_append_cut_end(&cut, title.length > 0 ? title.data : "stepscope", MAX_TITLE_BYTES);
    append_escaped(out, (struct ss_strview){cut.data, cut.length});
    ss_strbuf_fini(&title);
    ss_strbuf_fini(&cut);
}

static void append_head(const struct ss_document *document, struct ss_strbuf *out)
{
    ss_strbuf_append_text(out,
                          "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                          "'none'; base-uri 'none'; form-action 'none'");
    append_hashes("style-src", ss_page_sheets, out);
    append_hashes("script-src", ss_page_scripts, out);
    ss_strbuf_append_text(out, "\">\n<meta name=\"viewport\" content=\"width=device-width, "
                               "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
                               "dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    ss_strbuf_append_format(out, "<meta name=\"generator\" content=\"stepscope %s\">\n<title>",
                            SS_VERSION);
    append_title(document, out);
    ss_strbuf_append_text(out, "</title>\n");
    for (const char *const *sheet = ss_page_sheets; *sheet != NULL; sheet += 3) {
        ss_strbuf_append_format(out, "<style>%s</style>\n", sheet[1]);
    }
    ss_strbuf_append_text(out, "</head>\n<body>\n");
}

static void append_clean_lines(struct ss_strbuf *out, const char *text, size_t length)
{
    const char *end = text + length;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline != NULL ? newline : end;
        ss_text_append_clean(out, (struct ss_strview){text, (size_t)(stop - text)});
        ss_strbuf_append_char(out, '\n');
        text = stop + 1;
    }
}

static enum ss_status append_without_scripts(const struct ss_document *document,
                                             struct ss_strbuf *out, struct ss_error *err)
{
    const struct ss_report_style style = {.width = 120};
    struct ss_sink sink;
    ss_sink_open_memory(&sink, MAX_TEXT_REPORT_BYTES);
    FILE *text = ss_sink_stream(&sink);
    if (text == NULL) {
        ss_sink_abandon(&sink);
        return ss_fail(err, SS_E_NOMEM, "no memory for the text of the page");
    }
    enum ss_status status = ss_report_text(document, &style, text, err);
    bool is_whole = fclose(text) == 0 && !ss_sink_failed(&sink);
    struct ss_strbuf clean;
    ss_strbuf_init(&clean, 4 * MAX_TEXT_REPORT_BYTES);
    append_clean_lines(&clean, sink.buffer.data, sink.buffer.length);
    ss_strbuf_append_text(out, "<noscript><p>This page draws its report with scripts, which do not "
                               "run here. Its text:</p>\n<pre>");
    append_escaped(out, (struct ss_strview){clean.data, clean.length});
    ss_strbuf_append_format(out, "%s</pre></noscript>\n", is_whole ? "" : "\n…");
    ss_strbuf_fini(&clean);
    ss_sink_abandon(&sink);
    return status;
}

/* --- the data --------------------------------------------------------------------------------- */

/* '<', '>' and '&' stand in strings only: as an escape, no name ends the script or begins a
 * comment. */
static int append_json(const char *bytes, size_t length, void *context)
{
    struct ss_strbuf *out = context;
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if (c == '<' || c == '>' || c == '&') {
            ss_strbuf_append_format(out, "\\u%04x", (unsigned)c);
        } else {
            ss_strbuf_append_char(out, c);
        }
    }
    return out->overflow ? -1 : 0;
}

static void append_data(const struct ss_document *document, const struct ss_page_limits *limits,
                        struct ss_strbuf *out)
{
    json_t *root = json_object();
    json_object_set_new(root, "schema", json_integer(SCHEMA));
    json_object_set_new(root, "version", json_string(SS_VERSION));
    json_object_set_new(root, "blocks", ss_page_blocks(document, limits));
    ss_strbuf_append_text(out, "<script type=\"application/json\" id=\"report-data\">");
    json_dump_callback(root, append_json, out, JSON_COMPACT | JSON_REAL_PRECISION(9));
    ss_strbuf_append_text(out, "</script>\n");
    json_decref(root);
}

static void append_scripts(struct ss_strbuf *out)
{
    for (const char *const *script = ss_page_scripts; *script != NULL; script += 3) {
        ss_strbuf_append_format(out, "<script>%s</script>\n", script[1]);
    }
    ss_strbuf_append_text(out, "</body>\n</html>\n");
}

/* The begin of the page, whatever the limits. */
static enum ss_status append_begin(const struct ss_document *document, struct ss_strbuf *out,
                                   struct ss_error *err)
{
    append_head(document, out);
    SS_TRY(append_without_scripts(document, out, err));
    ss_strbuf_append_text(out, "<main id=\"report\"></main>\n");
    return SS_OK;
}

/* Appends the rest with the first limits with which the page is small enough. */
static enum ss_status append_rest(const struct ss_document *document, struct ss_strbuf *out,
                                  struct ss_error *err)
{
    static const struct ss_page_limits limits[] = {{1000, 4096, true}, {300, 1024, true},
                                                   {100, 512, true},   {100, 256, false},
                                                   {30, 128, false},   {10, 64, false}};
    size_t begin = out->length;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        out->length = begin;
        out->overflow = false;
        append_data(document, &limits[i], out);
        append_scripts(out);
        if (!out->overflow) {
            return SS_OK;
        }
    }
    return ss_fail(err, SS_E_LIMIT, "the page is larger than 5 MB: choose one table (--by)");
}

enum ss_status ss_report_html(const struct ss_document *document,
                              const struct ss_report_style *style, FILE *out, struct ss_error *err)
{
    (void)style;
    struct ss_strbuf page;
    ss_strbuf_init(&page, MAX_PAGE_BYTES);
    enum ss_status status = append_begin(document, &page, err);
    if (status == SS_OK) {
        status = append_rest(document, &page, err);
    }
    if (status == SS_OK) {
        fwrite(page.data, 1, page.length, out);
    }
    ss_strbuf_fini(&page);
    return status;
}
