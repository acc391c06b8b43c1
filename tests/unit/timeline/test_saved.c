/* SPDX-License-Identifier: Apache-2.0 */
/* A restored timeline answers as the one that was saved; files that are something else, cut or
 * damaged are refused, whatever they contain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../random.h"
#include "viewed_model.h"

static const struct ss_strview key = {"of this file", 12};
static const uint64_t most_bytes = UINT64_C(1) << 30;

/* The bytes of a saved timeline. */
static void save(const struct ss_viewed *viewed, struct ss_sink *sink)
{
    const atomic_bool never = false;
    ss_sink_open_memory(sink, 1 << 24);
    ss_viewed_save(viewed, key, &never, sink);
    assert_false(ss_sink_failed(sink));
}

static int file_of(const char *bytes, size_t length)
{
    int fd = memfd_create("saved", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), length);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static bool restore(struct ss_viewed *viewed, const char *bytes, size_t length,
                    struct ss_strview wanted, bool is_unsummed)
{
    const struct ss_restore_options options = {.size = sizeof options,
                                               .key = wanted,
                                               .most_bytes = most_bytes,
                                               .is_unsummed = is_unsummed};
    struct ss_error err = {0};
    int fd = file_of(bytes, length);
    ss_viewed_init(viewed);
    enum ss_status status = ss_viewed_restore(viewed, fd, &options, &err);
    assert_true(status == SS_OK || (status == SS_E_FORMAT && err.message[0] != '\0'));
    close(fd);
    return status == SS_OK;
}

/* Everything that a page can ask, as one text. */
static void answer_all(const struct ss_viewed *viewed, struct ss_sink *sink)
{
    const struct ss_answering answering = {&viewed->timeline, &viewed->steps, &viewed->links};
    struct ss_picture_request request = {.to_ns = viewed->timeline.duration_ns / 2 + 5000,
                                         .px = 300};
    ss_sink_open_memory(sink, 1 << 24);
    ss_answer_overview(&answering, sink);
    for (uint32_t i = 0; i < viewed->timeline.tracks.count && i < SS_PICTURE_MAX_TRACKS; i++) {
        request.tracks[request.track_count++] = i;
    }
    ss_answer_picture(&answering, &request, sink);
    for (uint32_t lane = 0; lane < viewed->timeline.lanes.count; lane++) {
        for (uint32_t at = 0; at < viewed->timeline.lanes.data[lane].count; at++) {
            assert_true(ss_answer_slice(&answering, lane, at, sink));
        }
    }
    ss_answer_sums(&answering, 100, 3000, sink);
    ss_answer_search(&answering, ss_strview_of("mm"), NULL, false, sink);
    for (int which = SS_CHOOSE_NEXT; which <= SS_CHOOSE_OUTLIER; which++) {
        ss_answer_step(&answering, 0, true, 0, (enum ss_step_choice)which, sink);
    }
    assert_false(ss_sink_failed(sink));
}

static void test_answers_stay_the_same(void **state)
{
    struct ss_viewed viewed, restored;
    struct ss_sink saved, before, after;
    (void)state;
    viewed_init(&viewed);
    assert_true(viewed.timeline.own_count > 6 && viewed.links.forth.count > 4);
    save(&viewed, &saved);
    assert_true(restore(&restored, saved.buffer.data, saved.buffer.length, key, false));
    assert_string_equal(restored.messages.data, "said of it\n");
    assert_int_equal(restored.exit_status, 3);
    answer_all(&viewed, &before);
    answer_all(&restored, &after);
    assert_string_equal(before.buffer.data, after.buffer.data);
    assert_true(before.buffer.length > 10000);
    /* And what is restored can be saved. */
    struct ss_sink again;
    save(&restored, &again);
    assert_int_equal(saved.buffer.length, again.buffer.length);
    ss_sink_abandon(&again);
    ss_sink_abandon(&before);
    ss_sink_abandon(&after);
    ss_sink_abandon(&saved);
    ss_viewed_fini(&restored);
    ss_viewed_fini(&viewed);
}

static void test_an_empty_one(void **state)
{
    struct ss_viewed viewed, restored;
    struct ss_sink saved, before, after;
    (void)state;
    ss_viewed_init(&viewed);
    assert_int_equal(ss_selection_init(&viewed.selection, &viewed.model,
                                       &(struct ss_selection_options){0}, NULL),
                     SS_OK);
    ss_timeline_init(&viewed.timeline, &viewed.selection);
    save(&viewed, &saved);
    assert_true(restore(&restored, saved.buffer.data, saved.buffer.length, key, false));
    answer_all(&viewed, &before);
    answer_all(&restored, &after);
    assert_string_equal(before.buffer.data, after.buffer.data);
    ss_sink_abandon(&before);
    ss_sink_abandon(&after);
    ss_sink_abandon(&saved);
    ss_viewed_fini(&restored);
    ss_viewed_fini(&viewed);
}

static void test_other_keys_and_cut_files_are_refused(void **state)
{
    struct ss_viewed viewed, restored;
    struct ss_sink saved;
    (void)state;
    viewed_init(&viewed);
    save(&viewed, &saved);
    const char *bytes = saved.buffer.data;
    size_t length = saved.buffer.length;
    assert_false(restore(&restored, bytes, length, ss_strview_of("of that file"), false));
    ss_viewed_fini(&restored);
    assert_false(restore(&restored, bytes, length, ss_strview_of("of this file, changed"), false));
    ss_viewed_fini(&restored);
    for (size_t cut = 0; cut < length; cut += 1 + cut / 40) {
        assert_false(restore(&restored, bytes, cut, key, true));
        ss_viewed_fini(&restored);
    }
    ss_sink_abandon(&saved);
    ss_viewed_fini(&viewed);
}

static void test_a_changed_bit_is_noticed(void **state)
{
    struct ss_viewed viewed, restored;
    struct ss_sink saved;
    (void)state;
    viewed_init(&viewed);
    save(&viewed, &saved);
    for (size_t at = 0; at < saved.buffer.length; at += 1 + next_random() % 60) {
        saved.buffer.data[at] ^= (char)(1 << at % 8);
        assert_false(restore(&restored, saved.buffer.data, saved.buffer.length, key, false));
        ss_viewed_fini(&restored);
        saved.buffer.data[at] ^= (char)(1 << at % 8);
    }
    ss_sink_abandon(&saved);
    ss_viewed_fini(&viewed);
}

/* With a checksum that fits, as an attacker writes it: numbers are replaced by
 * large, small and neighbouring ones. */
static void test_hostile_ones_do_no_harm(void **state)
{
    static const uint32_t numbers[] = {0,     1,          2,          255,       256,
                                       65535, 0x7fffffff, 0x80000000, 0xffffffff};
    struct ss_viewed viewed, restored;
    struct ss_sink saved, answers;
    size_t accepted = 0, refused = 0;
    (void)state;
    viewed_init(&viewed);
    save(&viewed, &saved);
    for (size_t at = 0; at + 4 <= saved.buffer.length; at += 4 * (1 + next_random() % 6)) {
        uint32_t before, number = numbers[next_random() % (sizeof numbers / sizeof *numbers)];
        memcpy(&before, saved.buffer.data + at, 4);
        number = next_random() % 4 == 0 ? before + 1 : number;
        memcpy(saved.buffer.data + at, &number, 4);
        if (restore(&restored, saved.buffer.data, saved.buffer.length, key, true)) {
            answer_all(&restored, &answers);
            ss_sink_abandon(&answers);
            accepted++;
        } else {
            refused++;
        }
        ss_viewed_fini(&restored);
        memcpy(saved.buffer.data + at, &before, 4);
    }
    assert_true(accepted > 100 && refused > 100);
    ss_sink_abandon(&saved);
    ss_viewed_fini(&viewed);
}

static void test_stopping_early(void **state)
{
    const atomic_bool now = true;
    struct ss_viewed viewed, restored;
    struct ss_sink sink;
    (void)state;
    viewed_init(&viewed);
    ss_sink_open_memory(&sink, 1 << 24);
    ss_viewed_save(&viewed, key, &now, &sink);
    assert_false(restore(&restored, sink.buffer.data, sink.buffer.length, key, true));
    ss_viewed_fini(&restored);
    ss_sink_abandon(&sink);
    ss_viewed_fini(&viewed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_stay_the_same),
        cmocka_unit_test(test_an_empty_one),
        cmocka_unit_test(test_other_keys_and_cut_files_are_refused),
        cmocka_unit_test(test_a_changed_bit_is_noticed),
        cmocka_unit_test(test_hostile_ones_do_no_harm),
        cmocka_unit_test(test_stopping_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
