/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of pictures find in their text. */
#ifndef SS_TESTS_SVG_TEXT_H
#define SS_TESTS_SVG_TEXT_H

#include <string.h>

#include "base/alloc.h"
#include "view/output/sink.h"

static inline size_t svg_count(const char *svg, const char *part)
{
    size_t count = 0;
    for (; (svg = strstr(svg, part)) != NULL; svg += strlen(part)) {
        count++;
    }
    return count;
}

static inline void svg_has(const char *svg, const char *part)
{
    if (strstr(svg, part) == NULL) {
        fail_msg("not in the picture: %s\n%s", part, svg);
    }
}

static inline void svg_lacks(const char *svg, const char *part)
{
    if (strstr(svg, part) != NULL) {
        fail_msg("in the picture: %s\n%s", part, svg);
    }
}

/* Each element that can be left open is closed. */
static inline void svg_is_whole(const char *svg)
{
    assert_int_equal(strncmp(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\"", 39), 0);
    assert_int_equal(strcmp(svg + strlen(svg) - 7, "</svg>\n"), 0);
    assert_int_equal(svg_count(svg, "<text"), svg_count(svg, "</text>"));
    assert_int_equal(svg_count(svg, "<g>") + svg_count(svg, "<g "), svg_count(svg, "</g>"));
    assert_int_equal(svg_count(svg, "<title>"), svg_count(svg, "</title>"));
    assert_int_equal(svg_count(svg, "\"") % 2, 0);
    svg_lacks(svg, "nan");
    svg_lacks(svg, "inf");
}

/* The text that a sink took; the caller frees it. */
static inline char *svg_take(struct ss_sink *sink)
{
    char *svg = ss_strdup(sink->buffer.data);
    ss_sink_abandon(sink);
    return svg;
}

#endif
