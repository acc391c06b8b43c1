/* SPDX-License-Identifier: Apache-2.0 */
#include "source/torch_profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

static const char magic[8] = {'S', 'S', 'T', 'O', 'R', 'C', 'H', '1'};

/* --- the file --------------------------------------------------------------------------------- */

/* The number of bytes after the header; 0: above the limit. */
static uint64_t size_of_rest(const struct ss_torch_profile_head *head, uint64_t text_bytes)
{
    const uint64_t most = SS_TORCH_PROFILE_MAX_BYTES;
    if (head->events < 0 || head->texts < 0 || text_bytes > most ||
        (uint64_t)head->events > most / sizeof(struct ss_torch_event) ||
        (uint64_t)head->texts > most / sizeof(int64_t)) {
        return 0;
    }
    return (uint64_t)head->texts * sizeof(int64_t) + text_bytes +
           (uint64_t)head->events * sizeof(struct ss_torch_event) + sizeof magic;
}

/* Computes the end of each text; false: invalid length. */
static bool find_texts(const uint8_t *lengths, struct ss_torch_profile *profile)
{
    uint64_t end = 0;
    for (int64_t i = 0; i < profile->head.texts; i++) {
        int64_t length;
        memcpy(&length, lengths + (size_t)i * sizeof length, sizeof length);
        if (length < 0 || length > SS_TORCH_PROFILE_MAX_BYTES) {
            return false;
        }
        end += (uint64_t)length;
        if (end > SS_TORCH_PROFILE_MAX_BYTES) {
            return false;
        }
        profile->text_ends[i + 1] = end;
    }
    return true;
}

static enum ss_status check_head(const struct ss_torch_profile_head *head, size_t size,
                                 struct ss_error *err)
{
    if (head->version != SS_TORCH_PROFILE_VERSION) {
        return ss_fail(err, SS_E_FORMAT, "torch.profiler's file has version %" PRId64 ", not %d",
                       head->version, SS_TORCH_PROFILE_VERSION);
    }
    uint64_t least = size_of_rest(head, 0);
    if (least == 0 || least > size) {
        return ss_fail(err, SS_E_FORMAT, "torch.profiler's file is cut short: %zu bytes", size);
    }
    return SS_OK;
}

enum ss_status ss_torch_profile_read(const void *data, size_t size,
                                     struct ss_torch_profile *profile, struct ss_error *err)
{
    const uint8_t *bytes = data;
    const size_t head_bytes = sizeof magic + sizeof profile->head;
    *profile = (struct ss_torch_profile){0};
    if (size < head_bytes || memcmp(bytes, magic, sizeof magic) != 0) {
        return ss_fail(err, SS_E_FORMAT, "this is not a file of torch.profiler's events");
    }
    memcpy(&profile->head, bytes + sizeof magic, sizeof profile->head);
    SS_TRY(check_head(&profile->head, size - head_bytes, err));
    size_t texts = (size_t)profile->head.texts, events = (size_t)profile->head.events;
    profile->text_ends = ss_alloc_zero(texts + 1, sizeof *profile->text_ends);
    const uint8_t *lengths = bytes + head_bytes;
    bool has_texts = find_texts(lengths, profile);
    uint64_t text_bytes = profile->text_ends[texts];
    if (!has_texts || size_of_rest(&profile->head, text_bytes) != size - head_bytes ||
        memcmp(bytes + size - sizeof magic, magic, sizeof magic) != 0) {
        ss_torch_profile_fini(profile);
        return ss_fail(err, SS_E_FORMAT, "torch.profiler's file is incomplete: %zu bytes", size);
    }
    profile->texts = (const char *)lengths + texts * sizeof(int64_t);
    profile->events = bytes + size - sizeof magic - events * sizeof(struct ss_torch_event);
    return SS_OK;
}

void ss_torch_profile_fini(struct ss_torch_profile *profile)
{
    ss_free(profile->text_ends);
    *profile = (struct ss_torch_profile){0};
}

struct ss_strview ss_torch_profile_text(const struct ss_torch_profile *profile, int64_t text)
{
    if (text < 1 || text > profile->head.texts) {
        return (struct ss_strview){"", 0};
    }
    uint64_t begin = profile->text_ends[text - 1], end = profile->text_ends[text];
    return (struct ss_strview){profile->texts + begin, (size_t)(end - begin)};
}

/* CLOCK_REALTIME may be slewed: its offset is interpolated linearly between the two readings. */
uint64_t ss_torch_profile_monotonic(const struct ss_torch_profile *profile, int64_t real_ns)
{
    const struct ss_torch_profile_head *head = &profile->head;
    uint64_t ahead = (uint64_t)head->real_begin_ns - (uint64_t)head->monotonic_begin_ns;
    uint64_t ahead_later = (uint64_t)head->real_end_ns - (uint64_t)head->monotonic_end_ns;
    double drift_ns = (double)(int64_t)(ahead_later - ahead);
    double whole_ns = (double)head->real_end_ns - (double)head->real_begin_ns;
    double part = whole_ns > 0 ? ((double)real_ns - (double)head->real_begin_ns) / whole_ns : 0;
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    int64_t moved = drift_ns > -1e18 && drift_ns < 1e18 ? (int64_t)(part * drift_ns) : 0;
    uint64_t monotonic = (uint64_t)real_ns - ahead - (uint64_t)moved;
    return (int64_t)monotonic < 0 ? 0 : monotonic;
}

/* --- ranges ----------------------------------------------------------------------------------- */

struct item {
    struct ss_torch_range range;
    size_t order;
};

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_lanes(const struct ss_torch_range *a, const struct ss_torch_range *b)
{
    if (ss_torch_range_is_on_device(a) != ss_torch_range_is_on_device(b)) {
        return ss_torch_range_is_on_device(a) ? 1 : -1;
    }
    int by_device = ss_torch_range_is_on_device(a) ? compare_numbers(a->device, b->device) : 0;
    return by_device != 0 ? by_device : compare_numbers(a->lane, b->lane);
}

static int compare(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    int by_lane = compare_lanes(&a->range, &b->range);
    if (by_lane != 0) {
        return by_lane;
    }
    if (a->range.begin_ns != b->range.begin_ns) {
        return a->range.begin_ns < b->range.begin_ns ? -1 : 1;
    }
    if (a->range.end_ns != b->range.end_ns) {
        return a->range.end_ns > b->range.end_ns ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

static struct item read_event(const struct ss_torch_profile *profile, size_t at)
{
    struct ss_torch_event event;
    memcpy(&event, profile->events + at * sizeof event, sizeof event);
    bool is_known = event.kind >= 0 && event.kind < SS_TORCH_KINDS;
    int64_t duration_ns = event.duration_ns > 0 ? event.duration_ns : 0;
    bool has_correlation =
        (event.kind == SS_TORCH_RUNTIME || event.kind == SS_TORCH_DEVICE) && event.number > 0;
    int64_t end_ns = 0;
    if (__builtin_add_overflow(event.begin_ns, duration_ns, &end_ns)) {
        end_ns = event.begin_ns;
    }
    struct item item = {.order = at};
    item.range =
        (struct ss_torch_range){.begin_ns = ss_torch_profile_monotonic(profile, event.begin_ns),
                                .end_ns = ss_torch_profile_monotonic(profile, end_ns),
                                .lane = event.lane,
                                .device = event.device,
                                .name = event.name,
                                .details = event.details,
                                .sequence = event.kind <= SS_TORCH_SCOPE ? event.number : -1,
                                .correlation = has_correlation ? (uint64_t)event.number : 0,
                                .kind = is_known ? (enum ss_torch_kind)event.kind : SS_TORCH_SCOPE};
    if (item.range.end_ns < item.range.begin_ns) {
        item.range.end_ns = item.range.begin_ns;
    }
    if (item.range.kind == SS_TORCH_MEMORY) {
        item.range.end_ns = item.range.begin_ns;
        item.range.cpu_bytes = event.device == 0 ? event.number : 0;
        item.range.device_bytes = event.device == 0 ? 0 : event.number;
    }
    return item;
}

static void add_bytes(struct ss_torch_range *to, const struct ss_torch_range *from)
{
    to->cpu_bytes = (int64_t)((uint64_t)to->cpu_bytes + (uint64_t)from->cpu_bytes);
    to->device_bytes = (int64_t)((uint64_t)to->device_bytes + (uint64_t)from->device_bytes);
}

struct nesting {
    struct ss_torch_ranges *out;
    struct ss_vec_of(size_t) open;
};

static void close_before(struct nesting *nesting, const struct ss_torch_range *next)
{
    struct ss_torch_range *data = nesting->out->data;
    while (nesting->open.count > 0) {
        struct ss_torch_range *top = &data[nesting->open.data[nesting->open.count - 1]];
        if (next != NULL && compare_lanes(top, next) == 0 && top->end_ns > next->begin_ns) {
            return;
        }
        nesting->open.count--;
        if (nesting->open.count > 0) {
            add_bytes(&data[nesting->open.data[nesting->open.count - 1]], top);
        }
    }
}

/* Ranges of a lane nest: the end of a range is clamped to the end of its parent. */
static void add_range(struct nesting *nesting, const struct ss_torch_range *range)
{
    struct ss_torch_ranges *out = nesting->out;
    close_before(nesting, range);
    struct ss_torch_range *outer =
        nesting->open.count > 0 ? &out->data[nesting->open.data[nesting->open.count - 1]] : NULL;
    if (range->kind == SS_TORCH_MEMORY) {
        out->has_memory = true;
        if (outer != NULL) {
            add_bytes(outer, range);
        }
        return;
    }
    struct ss_torch_range *added = &out->data[out->count];
    *added = *range;
    if (outer != NULL && added->end_ns > outer->end_ns) {
        added->end_ns = outer->end_ns;
    }
    ss_vec_push(&nesting->open, out->count);
    out->count++;
}

void ss_torch_ranges_init(struct ss_torch_ranges *ranges, const struct ss_torch_profile *profile)
{
    size_t count = (size_t)profile->head.events;
    struct item *items = ss_alloc_zero(count + 1, sizeof *items);
    struct nesting nesting = {.out = ranges};
    *ranges = (struct ss_torch_ranges){.data = ss_alloc_zero(count + 1, sizeof *ranges->data)};
    for (size_t i = 0; i < count; i++) {
        items[i] = read_event(profile, i);
    }
    qsort(items, count, sizeof *items, compare);
    for (size_t i = 0; i < count; i++) {
        add_range(&nesting, &items[i].range);
    }
    close_before(&nesting, NULL);
    ss_vec_fini(&nesting.open);
    ss_free(items);
}

void ss_torch_ranges_fini(struct ss_torch_ranges *ranges)
{
    ss_free(ranges->data);
    *ranges = (struct ss_torch_ranges){0};
}
