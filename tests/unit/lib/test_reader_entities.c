/* SPDX-License-Identifier: Apache-2.0 */
/* The entities of the golden trace that unit/trace/entity_recording.h describes, by the public
 * reader; and what is left of them when its bytes are turned. */
#include <stepscope/reader.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char golden[] = SS_TEST_SOURCE_DIR "/tests/golden/good/entities.pftrace";

static stepscope_reader *open_golden(void)
{
    stepscope_reader *reader;
    stepscope_error error;
    if (stepscope_reader_open(golden, &reader, &error) != STEPSCOPE_OK) {
        fail_msg("%s", error.message);
    }
    return reader;
}

static void a_process_has_its_place_among_ranks(void **state)
{
    (void)state;
    stepscope_reader *reader = open_golden();
    const stepscope_process *process = stepscope_reader_process(reader, 1);
    assert_int_equal(process->rank, 0);
    assert_int_equal(process->local_rank, 3);
    assert_int_equal(process->node, 0);
    assert_int_equal(process->world_size, 64);
    assert_int_equal(process->role, STEPSCOPE_ROLE_TRAINS);
    const stepscope_host *host = stepscope_reader_host(reader, process->host_ref);
    assert_string_equal(host->name, "node17");
    assert_string_equal(host->boot_id, "5c1f-boot");
    assert_int_equal(host->time_namespace, UINT64_C(4026531834));
    assert_int_equal(stepscope_reader_host_count(reader), 1);
    assert_null(stepscope_reader_host(reader, 0));
    assert_null(stepscope_reader_host(reader, 2));
    stepscope_reader_close(reader);
}

static void tracks_lead_to_streams_and_devices(void **state)
{
    (void)state;
    stepscope_reader *reader = open_golden();
    assert_int_equal(stepscope_reader_stream_count(reader), 2);
    const stepscope_track *track = stepscope_reader_track(reader, 2);
    const stepscope_stream *stream = stepscope_reader_stream(reader, track->stream_ref);
    assert_int_equal(stream->ref, 2);
    assert_string_equal(stream->name, "copies");
    assert_int_equal(stream->number, UINT64_C(0x7f00deadbeef));
    assert_int_equal(stream->priority, -2);
    assert_false(stream->is_default);
    assert_true(stepscope_reader_stream(reader, 1)->is_default);
    const stepscope_context *context = stepscope_reader_context(reader, stream->context_ref);
    assert_int_equal(context->process_ref, 1);
    assert_int_equal(context->number, 7);
    const stepscope_device *device = stepscope_reader_device(reader, context->device_ref);
    assert_int_equal(device->ref, track->device_ref);
    assert_int_equal(device->kind, STEPSCOPE_DEVICE_GPU);
    assert_int_equal(device->number, 0);
    assert_string_equal(device->uuid, "GPU-one");
    assert_string_equal(device->model, "");
    assert_int_equal(stepscope_reader_context_count(reader), 1);
    assert_int_equal(stepscope_reader_device_count(reader), 1);
    assert_int_equal(stepscope_reader_source_count(reader), 0);
    assert_null(stepscope_reader_source(reader, 1));
    stepscope_reader_close(reader);
}

static void groups_list_their_ranks(void **state)
{
    (void)state;
    static const uint32_t some[] = {0, 8, 16, 24, 5, 63};
    stepscope_reader *reader = open_golden();
    assert_int_equal(stepscope_reader_group_count(reader), 2);
    const stepscope_group *all = stepscope_reader_group(reader, 1);
    assert_int_equal(all->kind, STEPSCOPE_GROUP_NCCL);
    assert_int_equal(all->number, 99);
    assert_int_equal(all->size, 64);
    assert_int_equal(all->run_count, 1);
    assert_int_equal(all->runs[0].count, 64);
    const stepscope_group *data = stepscope_reader_group(reader, 2);
    assert_int_equal(data->kind, STEPSCOPE_GROUP_GLOO);
    assert_string_equal(data->name, "data");
    uint32_t ranks = 0;
    for (uint32_t i = 0; i < data->run_count; i++) {
        for (uint32_t k = 0; k < data->runs[i].count; k++) {
            assert_true(ranks < sizeof some / sizeof *some);
            assert_int_equal(data->runs[i].first + k * data->runs[i].stride, some[ranks++]);
        }
    }
    assert_int_equal(ranks, data->size);
    stepscope_reader_close(reader);
}

/* Each entity that is returned has its ref, whatever the file says. */
static void check_refs(const stepscope_reader *reader)
{
#define CHECK(name)                                                                                \
    for (uint32_t ref = 1; ref <= stepscope_reader_##name##_count(reader); ref++) {                \
        const stepscope_##name *entry = stepscope_reader_##name(reader, ref);                      \
        assert_true(entry == NULL || entry->ref == ref);                                           \
    }
    CHECK(host)
    CHECK(device)
    CHECK(context)
    CHECK(stream)
    CHECK(group)
    CHECK(source)
}

static void damage_costs_no_more_than_what_it_hits(void **state)
{
    (void)state;
    char path[64] = "/tmp/stepscope-entities-XXXXXX";
    static char bytes[65536];
    FILE *file = fopen(golden, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t at = 0; at < length; at += 3) {
        stepscope_reader *reader;
        bytes[at] = (char)(bytes[at] ^ 0x41);
        assert_int_equal(pwrite(fd, bytes, length, 0), (ssize_t)length);
        if (stepscope_reader_open(path, &reader, NULL) == STEPSCOPE_OK) {
            check_refs(reader);
            stepscope_reader_close(reader);
        }
        bytes[at] = (char)(bytes[at] ^ 0x41);
    }
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_has_its_place_among_ranks),
        cmocka_unit_test(tracks_lead_to_streams_and_devices),
        cmocka_unit_test(groups_list_their_ranks),
        cmocka_unit_test(damage_costs_no_more_than_what_it_hits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
