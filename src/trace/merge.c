/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/merge_inside.h"
#include "trace/output.h"
#include "trace/rewrite.h"
#include "trace/writer_entities.h"

enum {
    READ_BYTES = 64 * 1024, /* of each part, which may be thousands */
    IDENTITY_BYTES = 32 * 1024
};

/* --- which parts ------------------------------------------------------------------------------ */

static uint64_t hash_part(int fd, off_t at, uint64_t hash)
{
    char *bytes = ss_alloc(IDENTITY_BYTES);
    ssize_t got = pread(fd, bytes, IDENTITY_BYTES, at);
    for (ssize_t i = 0; i < got; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, got - i < 8 ? (size_t)(got - i) : sizeof word);
        hash = ss_hash_u64(hash ^ word);
    }
    ss_free(bytes);
    return hash;
}

uint64_t ss_merge_identity(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    uint64_t hash = 0;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        off_t tail = status.st_size > IDENTITY_BYTES ? status.st_size - IDENTITY_BYTES : 0;
        hash = hash_part(fd, 0, (uint64_t)status.st_size);
        hash = hash_part(fd, tail, hash) | 1;
    }
    if (fd >= 0) {
        close(fd);
    }
    return hash;
}

/* The attributes of the first unit, which has all that are known at the start. */
static enum ss_status read_head(struct ss_merge_input *input, struct ss_error *err)
{
    static const struct ss_trace_visitor attributes = {.attribute = ss_merge_on_attribute};
    struct ss_trace_reader *reader = NULL;
    bool has_unit = false;
    uint64_t first_ns;
    SS_TRY(ss_trace_reader_open(input->path, READ_BYTES, &attributes, input, &reader, err));
    enum ss_status status = ss_trace_reader_next(reader, &has_unit, &first_ns, err);
    if (status == SS_OK && has_unit) {
        status = ss_trace_reader_unit(reader, err);
    } else if (status == SS_OK) {
        status = ss_fail(err, SS_E_FORMAT, "%s holds no readable stepscope trace", input->path);
    }
    ss_trace_reader_close(reader);
    return status;
}

static bool has_identity(const struct ss_merge *merge, uint64_t identity)
{
    for (size_t i = 0; i < merge->identities.count; i++) {
        if (merge->identities.data[i] == identity) {
            return true;
        }
    }
    return false;
}

/* Whether a part that was merged earlier has this file. */
static bool is_in_merged(const struct ss_merge *merge, const struct ss_merge_input *wanted)
{
    for (size_t i = 0; i < merge->inputs.count; i++) {
        const struct ss_merge_input *input = &merge->inputs.data[i];
        for (size_t k = 0; input != wanted && k < input->merged.count; k++) {
            if (input->merged.data[k] == wanted->identity) {
                return true;
            }
        }
    }
    return false;
}

/* Adds the files of an input. `*is_repeated`: the output has all of them already. */
static enum ss_status add_identities(struct ss_merge *merge, const struct ss_merge_input *input,
                                     bool *is_repeated, struct ss_error *err)
{
    size_t known = 0, count = input->merged.count;
    for (size_t i = 0; i < count; i++) {
        known += has_identity(merge, input->merged.data[i]);
    }
    *is_repeated = count > 0 ? known == count
                             : has_identity(merge, input->identity) || is_in_merged(merge, input);
    if (*is_repeated) {
        return SS_OK;
    }
    if (known > 0) {
        return ss_fail(
            err, SS_E_USAGE,
            "%s has %zu of its %zu recordings in common with an earlier input; merge the "
            "recordings that they were made from",
            input->path, known, count);
    }
    for (size_t i = 0; i < count; i++) {
        ss_vec_push(&merge->identities, input->merged.data[i]);
    }
    if (count == 0) {
        ss_vec_push(&merge->identities, input->identity);
    }
    return SS_OK;
}

/* Removes the inputs that are there twice. Merged ones come first: they decide what is. */
static enum ss_status leave_out_repeated(struct ss_merge *merge, struct ss_error *err)
{
    size_t count = merge->inputs.count, remaining = 0;
    bool *is_repeated = ss_alloc_zero(count + 1, sizeof *is_repeated);
    enum ss_status status = SS_OK;
    for (size_t i = 0; i < count && status == SS_OK; i++) {
        status = add_identities(merge, &merge->inputs.data[i], &is_repeated[i], err);
    }
    for (size_t i = 0; i < count; i++) {
        struct ss_merge_input *input = &merge->inputs.data[i];
        if (is_repeated[i]) {
            ss_merge_input_fini(input);
        } else {
            merge->inputs.data[remaining] = *input;
            merge->inputs.data[remaining].number = remaining;
            remaining++;
        }
    }
    merge->inputs.count = status == SS_OK ? remaining : merge->inputs.count;
    merge->result.repeated = count - remaining;
    merge->result.parts = remaining;
    ss_free(is_repeated);
    return status;
}

static enum ss_status open_inputs(struct ss_merge *merge, const struct ss_merge_part *parts,
                                  size_t count, struct ss_error *err)
{
    ss_vec_resize(&merge->inputs, count); /* now: they must not move while they are read */
    for (size_t i = 0; i < count; i++) {
        merge->inputs.data[i] =
            (struct ss_merge_input){.merge = merge,
                                    .number = i,
                                    .option = i,
                                    .path = parts[i].path,
                                    .is_on_axis = parts[i].is_on_axis,
                                    .identity = ss_merge_identity(parts[i].path)};
    }
    for (size_t i = 0; i < count; i++) {
        SS_TRY(read_head(&merge->inputs.data[i], err));
    }
    SS_TRY(leave_out_repeated(merge, err));
    for (size_t i = 0; i < merge->inputs.count; i++) {
        merge->has_several_hosts =
            merge->has_several_hosts ||
            !ss_strview_equal(merge->inputs.data[i].host, merge->inputs.data[0].host);
    }
    return SS_OK;
}

/* --- in the order of time --------------------------------------------------------------------- */

static bool is_before(const struct ss_merge *merge, uint32_t a, uint32_t b)
{
    const struct ss_merge_input *left = &merge->inputs.data[a], *right = &merge->inputs.data[b];
    return left->next_ns != right->next_ns ? left->next_ns < right->next_ns : a < b;
}

static void sift_down(struct ss_merge *merge, size_t at)
{
    uint32_t *heap = merge->heap.data;
    for (;;) {
        size_t least = at, left = 2 * at + 1;
        for (size_t child = left; child < left + 2 && child < merge->heap.count; child++) {
            least = is_before(merge, heap[child], heap[least]) ? child : least;
        }
        if (least == at) {
            return;
        }
        uint32_t swapped = heap[at];
        heap[at] = heap[least];
        heap[least] = swapped;
        at = least;
    }
}

/* Moves to the next unit; `*has_unit` false: the input has ended and is closed. */
static enum ss_status advance(struct ss_merge_input *input, bool *has_unit, struct ss_error *err)
{
    const struct ss_merge_options *options = input->merge->options;
    uint64_t first_ns = 0;
    SS_TRY(ss_trace_reader_next(input->reader, has_unit, &first_ns, err));
    if (*has_unit) {
        input->next_ns = options->on_axis != NULL
                             ? options->on_axis(options->context, input->option, first_ns)
                             : first_ns;
    } else {
        ss_trace_reader_close(input->reader);
        input->reader = NULL;
    }
    return SS_OK;
}

static enum ss_status fill_heap(struct ss_merge *merge, struct ss_error *err)
{
    for (uint32_t i = 0; i < merge->inputs.count; i++) {
        struct ss_merge_input *input = &merge->inputs.data[i];
        bool has_unit;
        SS_TRY(ss_trace_reader_open(input->path, READ_BYTES, &ss_merge_visitor, input,
                                    &input->reader, err));
        SS_TRY(advance(input, &has_unit, err));
        if (has_unit) {
            ss_vec_push(&merge->heap, i);
        }
    }
    for (size_t i = merge->heap.count / 2; i-- > 0;) {
        sift_down(merge, i);
    }
    return SS_OK;
}

static enum ss_status merge_units(struct ss_merge *merge, struct ss_error *err)
{
    SS_TRY(fill_heap(merge, err));
    while (merge->heap.count > 0) {
        struct ss_merge_input *input = &merge->inputs.data[merge->heap.data[0]];
        bool has_unit;
        SS_TRY(ss_trace_reader_unit(input->reader, err));
        SS_TRY(advance(input, &has_unit, err));
        if (!has_unit) {
            merge->heap.data[0] = merge->heap.data[--merge->heap.count];
        }
        sift_down(merge, 0);
    }
    return SS_OK;
}

/* --- output ----------------------------------------------------------------------------------- */

static void uuid_of(const struct ss_merge *merge, uint64_t uuid[2])
{
    uuid[0] = ss_hash_u64(merge->identities.count ^ (uint64_t)merge->options->perf_samples << 40);
    for (size_t i = 0; i < merge->identities.count; i++) {
        uuid[0] = ss_hash_u64(uuid[0] ^ merge->identities.data[i]);
    }
    uuid[1] = ss_hash_u64(uuid[0] + 1);
}

/* A host for each part whose recording names none. */
static enum ss_status put_hosts(struct ss_merge *merge, struct ss_error *err)
{
    for (size_t i = 0; i < merge->inputs.count && merge->has_several_hosts; i++) {
        struct ss_merge_input *input = &merge->inputs.data[i];
        const struct ss_trace_host host = {.ref = ++merge->next_ref[SS_SCHEMA_host],
                                           .name = input->host};
        input->host_ref = host.ref;
        for (size_t k = 0; k < i; k++) {
            if (ss_strview_equal(merge->inputs.data[k].host, input->host)) {
                input->host_ref = merge->inputs.data[k].host_ref;
                merge->next_ref[SS_SCHEMA_host]--;
                break;
            }
        }
        if (input->host_ref == host.ref) {
            SS_TRY(ss_trace_writer_host(merge->writer, &host, err));
        }
    }
    return SS_OK;
}

/* The cause of a failure is a record that the writer rejects, then a failed read. */
static enum ss_status write_merged(struct ss_merge *merge, struct ss_error *err)
{
    struct ss_trace_writer_options options = {.size = sizeof options,
                                              .path = merge->options->path,
                                              .compression = merge->options->compression,
                                              .threads = merge->options->threads,
                                              .replay = true,
                                              .totals = true,
                                              .perf_samples = merge->options->perf_samples};
    struct ss_error record_error = {0}, read_error = {0}, close_error = {0};
    merge->err = &record_error;
    uuid_of(merge, options.uuid);
    SS_TRY(ss_trace_writer_open(&options, &merge->writer, err));
    enum ss_status status = ss_merge_put_attributes(merge, &record_error);
    status = status == SS_OK ? ss_merge_put_identities(merge, &record_error) : status;
    status = status == SS_OK ? put_hosts(merge, &record_error) : status;
    status = status == SS_OK ? merge_units(merge, &read_error) : status;
    status = status == SS_OK ? ss_merge_put_attributes(merge, &record_error) : status;
    enum ss_status closed = ss_trace_writer_close(merge->writer, &close_error);
    if (status == SS_OK && closed == SS_OK) {
        return SS_OK;
    }
    unlink(merge->options->path);
    const struct ss_error *cause = record_error.status != SS_OK  ? &record_error
                                   : close_error.status != SS_OK ? &close_error
                                                                 : &read_error;
    if (err != NULL) {
        *err = *cause;
    }
    return cause->status;
}

enum ss_status ss_trace_merge(const struct ss_merge_part *parts, size_t count,
                              const struct ss_merge_options *options,
                              struct ss_merge_result *result, struct ss_error *err)
{
    struct ss_merge merge = {.options = options};
    if (count == 0 || count > SS_MERGE_MOST_PARTS) {
        return ss_fail(err, SS_E_LIMIT, "%zu recordings: between 1 and %d can be merged", count,
                       SS_MERGE_MOST_PARTS);
    }
    ss_merge_maps_init(&merge);
    enum ss_status status = open_inputs(&merge, parts, count, err);
    if (status == SS_OK && merge.inputs.count == 1 && merge.inputs.data[0].merged.count > 0) {
        status = ss_trace_repair(merge.inputs.data[0].path, options->path, NULL, err);
    } else if (status == SS_OK) {
        status = write_merged(&merge, err);
    }
    *result = merge.result;
    ss_merge_maps_fini(&merge);
    return status;
}
