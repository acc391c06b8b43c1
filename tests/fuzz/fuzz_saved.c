/* SPDX-License-Identifier: Apache-2.0 */
/* A saved timeline with changes: it is refused, or its answers are JSON (of any numbers). The input
 * is the changes, each an offset (4 bytes) and what is added to the 4 bytes there; so it fits any
 * build. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unit/timeline/viewed_model.h"

enum { ANSWER_BYTES = 64 << 20, MOST_CHANGES = 16, MOST_SLICES = 6 };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static const struct ss_strbuf *saved(void)
{
    static struct ss_sink sink;
    if (sink.buffer.length == 0) {
        const atomic_bool never = false;
        struct ss_viewed viewed;
        viewed_init(&viewed);
        ss_sink_open_memory(&sink, ANSWER_BYTES);
        ss_viewed_save(&viewed, (struct ss_strview){"", 0}, &never, &sink);
        ss_viewed_fini(&viewed);
    }
    return &sink.buffer;
}

static void begin(struct ss_sink *sink)
{
    ss_sink_open_memory(sink, ANSWER_BYTES);
}

static void end(struct ss_sink *sink)
{
    check(!ss_sink_failed(sink), "an answer fits");
    json_t *root =
        json_loadb(sink->buffer.data, sink->buffer.length,
                   JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
    check(root != NULL, "an answer is JSON");
    json_decref(root);
    ss_sink_abandon(sink);
}

static void check_answers(const struct ss_viewed *viewed)
{
    const struct ss_timeline *timeline = &viewed->timeline;
    const struct ss_answering answering = {timeline, &viewed->steps, &viewed->links};
    struct ss_picture_request request = {.to_ns = timeline->duration_ns / 2 + 2000, .px = 200};
    struct ss_sink sink;
    begin(&sink);
    ss_answer_overview(&answering, &sink);
    end(&sink);
    for (uint32_t i = 0; i < timeline->tracks.count && i < SS_PICTURE_MAX_TRACKS; i++) {
        request.tracks[request.track_count++] = i;
    }
    begin(&sink);
    ss_answer_picture(&answering, &request, &sink);
    end(&sink);
    for (uint32_t lane = 0; lane < timeline->lanes.count; lane++) {
        for (uint32_t at = 0; at < timeline->lanes.data[lane].count && at < MOST_SLICES; at++) {
            begin(&sink);
            check(ss_answer_slice(&answering, lane, at, &sink), "a slice has details");
            end(&sink);
        }
    }
    begin(&sink);
    ss_answer_sums(&answering, 0, 5000, &sink);
    end(&sink);
    begin(&sink);
    ss_answer_search(&answering, ss_strview_of("a"), NULL, false, &sink);
    end(&sink);
    begin(&sink);
    ss_answer_step(&answering, 0, true, 0, SS_CHOOSE_NEXT, &sink);
    end(&sink);
}

static void change(char *bytes, size_t length, const uint8_t *changes, size_t count)
{
    for (size_t i = 0; i + 8 <= count && i < (size_t)8 * MOST_CHANGES; i += 8) {
        uint32_t offset, by, value;
        memcpy(&offset, changes + i, 4);
        memcpy(&by, changes + i + 4, 4);
        offset = (uint32_t)(offset % (length - 3));
        memcpy(&value, bytes + offset, 4);
        value += by;
        memcpy(bytes + offset, &value, 4);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ss_restore_options options = {
        .size = sizeof options, .key = {"", 0}, .most_bytes = 1 << 24, .is_unsummed = true};
    const struct ss_strbuf *whole = saved();
    size_t length = size % 8 == 0 ? whole->length : whole->length - data[size - 1];
    char *bytes = ss_alloc(whole->length);
    memcpy(bytes, whole->data, whole->length);
    change(bytes, whole->length, data, size);
    int fd = memfd_create("saved", MFD_CLOEXEC);
    check(fd >= 0 && write(fd, bytes, length) == (ssize_t)length && lseek(fd, 0, SEEK_SET) == 0,
          "a file of memory");
    struct ss_viewed viewed;
    ss_viewed_init(&viewed);
    if (ss_viewed_restore(&viewed, fd, &options, NULL) == SS_OK) {
        check_answers(&viewed);
    }
    ss_viewed_fini(&viewed);
    close(fd);
    ss_free(bytes);
    return 0;
}
