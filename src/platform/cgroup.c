/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/cgroup.h"

#include <stdio.h>
#include <string.h>

#include "platform/text_scan.h"

/* Version 1 writes "no limit" as the largest multiple of the page size in 63 bits. */
static const uint64_t no_limit_bytes = UINT64_C(1) << 60;

/* Is `name` an item of the comma-separated list? */
static bool list_has(struct ss_strview list, const char *name)
{
    size_t length = strlen(name);
    const char *at = list.data, *end = list.data + list.length;
    while (at <= end) {
        const char *comma = at < end ? memchr(at, ',', (size_t)(end - at)) : NULL;
        size_t word = (size_t)((comma != NULL ? comma : end) - at);
        if (word == length && memcmp(at, name, length) == 0) {
            return true;
        }
        at += word + 1;
    }
    return false;
}

/* Parses "4:memory:/docker/1f3…" or "0::/user.slice": the path of the process in the hierarchy. */
static bool find_path(struct ss_strview view, const char *controller, struct ss_strview *path)
{
    struct ss_text_scan text = ss_text_scan_of(view), line;
    while (ss_text_scan_line(&text, &line)) {
        size_t length = (size_t)(line.end - line.at);
        const char *first = memchr(line.at, ':', length);
        const char *second =
            first != NULL ? memchr(first + 1, ':', (size_t)(line.end - first - 1)) : NULL;
        if (second == NULL) {
            continue;
        }
        struct ss_strview list = {first + 1, (size_t)(second - first - 1)};
        bool wanted = controller[0] != '\0' ? list.length > 0 && list_has(list, controller)
                                            : list.length == 0;
        if (wanted) {
            *path = (struct ss_strview){second + 1, (size_t)(line.end - second - 1)};
            return path->length > 0 && path->data[0] == '/';
        }
    }
    return false;
}

struct mount {
    struct ss_strview root, point;
};

/* Parses "36 35 98:0 /root /point options… - cgroup cgroup rw,memory". */
static bool parse_mount(struct ss_text_scan line, const char *controller, struct mount *mount)
{
    struct ss_strview word;
    for (int i = 0; i < 3; i++) {
        if (!ss_text_scan_word(&line, &word)) {
            return false;
        }
    }
    if (!ss_text_scan_word(&line, &mount->root) || !ss_text_scan_word(&line, &mount->point)) {
        return false;
    }
    do {
        if (!ss_text_scan_word(&line, &word)) {
            return false;
        }
    } while (!ss_strview_equal(word, ss_strview_of("-")));
    struct ss_strview type, device;
    if (!ss_text_scan_word(&line, &type) || !ss_text_scan_word(&line, &device) ||
        !ss_text_scan_word(&line, &word)) {
        return false;
    }
    return controller[0] == '\0'
               ? ss_strview_equal(type, ss_strview_of("cgroup2"))
               : ss_strview_equal(type, ss_strview_of("cgroup")) && list_has(word, controller);
}

/* The part of `path` below the root of the mount: a container sees only its own subtree. */
static struct ss_strview below(struct ss_strview path, struct ss_strview root)
{
    if (root.length == 1) {
        return path;
    }
    bool inside = path.length >= root.length && memcmp(path.data, root.data, root.length) == 0 &&
                  (path.length == root.length || path.data[root.length] == '/');
    return inside ? (struct ss_strview){path.data + root.length, path.length - root.length}
                  : (struct ss_strview){path.data, 0};
}

/* false: a folder outside the namespace ("/../x"), or a mount point with blanks ("\040"). */
static bool is_plain(struct ss_strview path)
{
    return memmem(path.data, path.length, "/..", 3) == NULL &&
           memchr(path.data, '\\', path.length) == NULL &&
           memchr(path.data, '\0', path.length) == NULL;
}

bool ss_cgroup_find(struct ss_strview cgroup, struct ss_strview mountinfo, const char *controller,
                    struct ss_cgroup_folder *folder)
{
    struct ss_strview path;
    if (!find_path(cgroup, controller, &path)) {
        return false;
    }
    struct ss_text_scan text = ss_text_scan_of(mountinfo), line;
    while (ss_text_scan_line(&text, &line)) {
        struct mount mount;
        if (!parse_mount(line, controller, &mount) || !is_plain(mount.point)) {
            continue;
        }
        struct ss_strview rest = below(path, mount.root);
        bool top = rest.length <= 1 || !is_plain(rest);
        int length =
            snprintf(folder->path, sizeof folder->path, "%.*s%.*s", (int)mount.point.length,
                     mount.point.data, top ? 0 : (int)rest.length, rest.data);
        folder->mount_length = mount.point.length;
        return length > 0 && (size_t)length < sizeof folder->path;
    }
    return false;
}

bool ss_cgroup_up(struct ss_cgroup_folder *folder)
{
    char *slash = strrchr(folder->path, '/');
    if (slash == NULL || (size_t)(slash - folder->path) < folder->mount_length) {
        return false;
    }
    *slash = '\0';
    return true;
}

bool ss_cgroup_parse_number(struct ss_strview text, uint64_t *value)
{
    struct ss_text_scan line = ss_text_scan_of(text), first;
    return ss_text_scan_line(&line, &first) && ss_text_scan_number(&first, value);
}

static bool ratio(uint64_t quota, uint64_t period, double *cores)
{
    *cores = period > 0 ? (double)quota / (double)period : 0;
    return period > 0 && quota > 0;
}

bool ss_cgroup_parse_cpu_max(struct ss_strview text, double *cores)
{
    struct ss_text_scan lines = ss_text_scan_of(text), line;
    uint64_t quota, period;
    return ss_text_scan_line(&lines, &line) && ss_text_scan_number(&line, &quota) &&
           ss_text_scan_number(&line, &period) && ratio(quota, period, cores);
}

bool ss_cgroup_parse_cpu_quota(struct ss_strview quota, struct ss_strview period, double *cores)
{
    uint64_t quota_us, period_us; /* "-1" (no limit) does not parse as a number */
    return ss_cgroup_parse_number(quota, &quota_us) && ss_cgroup_parse_number(period, &period_us) &&
           ratio(quota_us, period_us, cores);
}

bool ss_cgroup_parse_limit(struct ss_strview text, uint64_t *bytes)
{
    return ss_cgroup_parse_number(text, bytes) && *bytes < no_limit_bytes;
}

static uint64_t us_to_ns(uint64_t us)
{
    return us <= UINT64_MAX / 1000 ? us * 1000 : UINT64_MAX;
}

bool ss_cgroup_parse_cpu_stat(struct ss_strview text, struct ss_cgroup_cpu *cpu)
{
    enum { USAGE_US, THROTTLED_US, THROTTLED_NS };
    struct ss_keyed_number rows[] = {[USAGE_US] = {"usage_usec"},
                                     [THROTTLED_US] = {"throttled_usec"},
                                     [THROTTLED_NS] = {"throttled_time"}};
    ss_text_scan_keyed(text, rows, sizeof rows / sizeof *rows);
    *cpu = (struct ss_cgroup_cpu){
        .has_usage = rows[USAGE_US].found,
        .usage_ns = us_to_ns(rows[USAGE_US].value),
        .has_throttled = rows[THROTTLED_US].found || rows[THROTTLED_NS].found,
        .throttled_ns = rows[THROTTLED_US].found ? us_to_ns(rows[THROTTLED_US].value)
                                                 : rows[THROTTLED_NS].value};
    return cpu->has_usage || cpu->has_throttled;
}
