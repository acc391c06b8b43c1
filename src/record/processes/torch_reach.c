/* SPDX-License-Identifier: Apache-2.0 */
#include "record/processes/torch_reach.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "platform/maps.h"
#include "platform/procfs.h"
#include "platform/runtime_library.h"

enum { LONGEST_VARIABLE = 8192, MOST_SHOWN = 200 };

static const uint64_t second_ns = UINT64_C(1000000000);
static const uint64_t longest_pause_ns = UINT64_C(32000000000);

static bool contains(pid_t pid, const char *variable, const char *ours, char *value, size_t size)
{
    value[0] = '\0';
    bool is_set = ss_procfs_environment(pid, variable, value, size);
    return is_set && ours[0] != '\0' && strstr(value, ours) != NULL;
}

/* Whether the file name, without its folder, begins with `begin`. */
static bool is_named(const char *path, const char *begin)
{
    const char *slash = strrchr(path, '/');
    return strncmp(slash != NULL ? slash + 1 : path, begin, strlen(begin)) == 0;
}

/* The hooks come with preload.so, however it was loaded, or with the extension of the Python
 * package. libstepscope is not evidence: torch also loads it, as a collector of ITT. */
static bool is_missed(pid_t pid)
{
    struct ss_maps maps;
    if (ss_maps_read(pid, &maps, NULL) != SS_OK) {
        return false;
    }
    bool has_torch = false, has_hooks = false;
    for (size_t i = 0; i < maps.count; i++) {
        const char *path = maps.maps[i].path;
        has_torch = has_torch || is_named(path, "libtorch_python");
        has_hooks = has_hooks || is_named(path, SS_PRELOAD) || is_named(path, "_stepscope.");
    }
    ss_maps_fini(&maps);
    return has_torch && !has_hooks;
}

/* How LD_PRELOAD was changed, why PYTHONPATH did not help, the fix. */
static void explain(const struct ss_injection *injection, pid_t pid, struct ss_strbuf *text)
{
    char preload[LONGEST_VARIABLE], path[LONGEST_VARIABLE], library[LONGEST_VARIABLE];
    contains(pid, "LD_PRELOAD", injection->preload, preload, sizeof preload);
    bool has_path = contains(pid, "PYTHONPATH", injection->python, path, sizeof path);
    bool is_set = ss_procfs_environment(pid, "STEPSCOPE_LIBRARY", library, sizeof library);
    ss_strbuf_append_format(text, "process %d has torch but not stepscope's hooks: ", (int)pid);
    if (!is_set) {
        ss_strbuf_append_text(text,
                              "it started with an environment that lacks stepscope's variables; "
                              "pass on LD_PRELOAD, PYTHONPATH and STEPSCOPE_*, or put "
                              "\"stepscope record\" after the command that clears them");
        return;
    }
    if (injection->preload[0] == '\0') {
        ss_strbuf_append_text(text, "LD_PRELOAD cannot hold the path of stepscope");
    } else if (preload[0] != '\0') {
        ss_strbuf_append_format(text, "LD_PRELOAD was replaced by %.*s", MOST_SHOWN, preload);
    } else {
        ss_strbuf_append_text(text, "LD_PRELOAD was cleared");
    }
    ss_strbuf_append_text(text, has_path ? ", and -I, -E or -S leaves PYTHONPATH out; "
                                         : ", and PYTHONPATH was changed; ");
    if (injection->preload[0] == '\0') {
        ss_strbuf_append_text(text, "install it in another folder, or ");
    } else if (preload[0] != '\0') {
        ss_strbuf_append_format(text, "set LD_PRELOAD=\"%.*s $LD_PRELOAD\", or ", MOST_SHOWN,
                                preload);
    } else {
        ss_strbuf_append_text(text, "leave LD_PRELOAD as it is, or ");
    }
    ss_strbuf_append_text(text, "import stepscope in the program");
}

void ss_torch_reach_poll(struct ss_torch_reach *reach, const struct ss_injection *injection,
                         pid_t pid, uint64_t now_ns)
{
    if (injection == NULL || injection->torch[0] == '\0' || reach->is_preloaded ||
        now_ns < reach->due_ns) {
        return;
    }
    char preload[LONGEST_VARIABLE];
    if (reach->polls == 0 &&
        contains(pid, "LD_PRELOAD", injection->preload, preload, sizeof preload)) {
        reach->is_preloaded = true;
        return;
    }
    uint64_t pause_ns = ++reach->polls / 4 * second_ns; /* often at first, then less and less */
    reach->due_ns = now_ns + (pause_ns < longest_pause_ns ? pause_ns : longest_pause_ns);
    bool missed = is_missed(pid);
    if (missed && reach->missed == NULL) {
        struct ss_strbuf text;
        ss_strbuf_init(&text, 4096);
        explain(injection, pid, &text);
        reach->missed = ss_strdup(text.data);
        ss_strbuf_fini(&text);
    } else if (!missed) {
        ss_free(reach->missed);
        reach->missed = NULL;
    }
}

void ss_torch_reach_fini(struct ss_torch_reach *reach)
{
    ss_free(reach->missed);
    *reach = (struct ss_torch_reach){0};
}
