/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as files of trace events, and as traces: they merge or are refused, and what was merged
 * merges to the same bytes. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "model/merge/merge_json.h"
#include "trace/merge.h"

enum { MOST_OUTPUT_BYTES = 64 << 20, PATH_BYTES = 64 };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static int make_file(const void *bytes, size_t length, char path[PATH_BYTES])
{
    int fd = memfd_create("merge", MFD_CLOEXEC);
    check(fd >= 0 && write(fd, bytes, length) == (ssize_t)length, "memory is there");
    snprintf(path, PATH_BYTES, "/proc/self/fd/%d", fd);
    return fd;
}

static bool append(void *text, const void *bytes, size_t length)
{
    ss_strbuf_append(text, bytes, length);
    return true;
}

static bool merge_json(const char *const *paths, size_t count, struct ss_strbuf *merged)
{
    const struct ss_merge_json_output output = {append, merged};
    struct ss_merge_json_result result;
    struct ss_error err;
    ss_strbuf_init(merged, MOST_OUTPUT_BYTES);
    return ss_merge_json(paths, count, &output, &result, &err) == SS_OK;
}

static void check_json(const char *const *paths)
{
    struct ss_strbuf once, twice;
    if (merge_json(paths, 2, &once)) {
        char path[PATH_BYTES];
        const char *again = path;
        int fd = make_file(once.data, once.length, path);
        check(merge_json(&again, 1, &twice), "what was merged is trace-event JSON");
        check(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0,
              "merging again changes nothing");
        ss_strbuf_fini(&twice);
        close(fd);
    }
    ss_strbuf_fini(&once);
}

static void check_traces(const char *const *paths)
{
    char out[] = "/tmp/stepscope-fuzz-merge-XXXXXX";
    int fd = mkstemp(out);
    struct ss_merge_part parts[] = {{paths[0], true}, {paths[1], false}};
    const struct ss_merge_options options = {.size = sizeof options, .path = out};
    struct ss_merge_result result;
    struct ss_error err = {0};
    enum ss_status status = ss_trace_merge(parts, 2, &options, &result, &err);
    check(status == SS_OK || err.message[0] != '\0', "an error has a message");
    check(status != SS_E_BUG, "the writer accepts what the reader emits");
    close(fd);
    unlink(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char names[2][PATH_BYTES];
    const char *paths[] = {names[0], names[1]};
    size_t cut = size > 0 ? 1 + (size - 1) * data[0] / 255 : 0;
    size_t begin = size > 0 ? 1 : 0;
    int first = make_file(data + begin, cut - begin, names[0]);
    int second = make_file(data + cut, size - cut, names[1]);
    check_json(paths);
    check_traces(paths);
    close(first);
    close(second);
    return 0;
}
