/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder keeps of processes whose annotations are written: nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/annotations/annotation_clients.h"

static struct ss_record_client *add(struct ss_record_annotations *annotations, uint32_t process_ref)
{
    struct ss_record_client *client = ss_alloc_zero(1, sizeof *client);
    client->annotations = annotations;
    client->process_ref = process_ref;
    client->is_ended = client->is_dead = true;
    ss_vec_push(&annotations->clients, client);
    return client;
}

static void close_all(struct ss_record_annotations *annotations)
{
    for (size_t i = 0; i < annotations->clients.count; i++) {
        ss_free(annotations->clients.data[i]);
    }
    ss_vec_fini(&annotations->clients);
}

/* Each of 20,000 processes with two images ends, and is forgotten 100 processes later. */
static void ended_clients_do_not_accumulate(void **state)
{
    (void)state;
    enum { PROCESSES = 20000, LAG = 100 };
    struct ss_record_annotations annotations = {0};
    struct ss_record_client *live = add(&annotations, PROCESSES + 1);
    live->is_ended = live->is_dead = false;
    for (uint32_t ref = 1; ref <= PROCESSES; ref++) {
        add(&annotations, ref);
        add(&annotations, ref)->is_unreadable = ref == 7;
        if (ref > LAG) {
            ss_annotations_forget(&annotations, ref - LAG);
        }
        assert_true(annotations.clients.count <= 1 + 2 * LAG + 2);
    }
    ss_annotations_forget(&annotations, PROCESSES + 1);
    assert_int_equal(1 + 2 * LAG, annotations.clients.count);
    assert_ptr_equal(live, annotations.clients.data[0]);
    assert_int_equal(1, annotations.unreadable_before); /* still reported at the end */
    close_all(&annotations);
}

/* The program of an attached recording is one of many that come and go with their files. */
static void refused_clients_go_with_their_files(void **state)
{
    (void)state;
    struct ss_record_annotations annotations = {0};
    char path[] = "/tmp/stepscope-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (uint32_t i = 0; i < 3; i++) {
        struct ss_record_client *client = add(&annotations, 0);
        client->is_refused = i < 2;
        snprintf(client->path, sizeof client->path, "%s%s", path, i == 1 ? "" : ".gone");
    }
    ss_annotations_forget_refused(&annotations);
    assert_int_equal(2, annotations.clients.count); /* one is readable again, one has started */
    unlink(path);
    ss_annotations_forget_refused(&annotations);
    assert_int_equal(1, annotations.clients.count);
    assert_false(annotations.clients.data[0]->is_refused);
    close_all(&annotations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ended_clients_do_not_accumulate),
        cmocka_unit_test(refused_clients_go_with_their_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
