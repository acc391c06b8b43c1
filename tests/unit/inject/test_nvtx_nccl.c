/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's domain of NVTX: calls that are collectives, their communicators and numbers; payloads of
 * version 1.3, and calls that no NCCL makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../fakes/nvtx_program.h"
#include "../../fakes/own_recording.h"

typedef uint64_t register_schema(const void *, const struct ss_nvtx_schema *);
typedef uint64_t register_enum(const void *, const struct ss_nvtx_enum *);
typedef int pop_payload(const void *, const struct ss_nvtx_payload *, size_t);
typedef const void *create_domain(const char *);
typedef const void *register_string(const void *, const char *);
typedef int push_in(const void *, const struct ss_nvtx_event *);
typedef int pop_in(const void *);

#define PAYLOAD(slot, type) NVTX_PAYLOAD(&program, slot, type *)
#define CORE2(slot, type) NVTX_CALL(&program, SS_NVTX_CORE2, slot, type *)

enum {
    FIELDS = SS_NVTX_SCHEMA_HAS_TYPE | SS_NVTX_SCHEMA_HAS_ENTRIES | SS_NVTX_SCHEMA_HAS_COUNT |
             SS_NVTX_SCHEMA_HAS_ID,
    CALL = SS_NVTX_FIRST_STATIC + 5,
    REDUCTION = SS_NVTX_FIRST_STATIC + 24,
    MAKE = SS_NVTX_FIRST_STATIC,
    OLD_CALL = SS_NVTX_FIRST_STATIC + 7,
    ALL = SS_NVTX_FIRST_STATIC + 1
};

struct call {
    uint64_t communicator;
    size_t bytes;
    int reduction;
};
struct make {
    uint64_t communicator;
    int ranks, device;
};

static struct nvtx_program program;
static struct own_recording own;
static const void *domain;

static void add_schema(uint64_t id, const struct ss_nvtx_entry *entries, size_t count)
{
    struct ss_nvtx_schema schema = {.fields = FIELDS,
                                    .type = SS_NVTX_SCHEMA_STATIC,
                                    .entries = entries,
                                    .entry_count = count,
                                    .id = id};
    assert_int_equal(PAYLOAD(SS_NVTX_SCHEMA_REGISTER, register_schema)(domain, &schema), id);
}

static void add_schemas(void)
{
    static const struct ss_nvtx_entry call[] = {
        {.type = SS_NVTX_TYPE_UINT64, .name = "NCCL communicator ID"},
        {.type = SS_NVTX_TYPE_SIZE, .name = "Message size [bytes]", .offset = 8},
        {.type = REDUCTION, .name = "Reduction operation", .offset = 16}};
    static const struct ss_nvtx_entry old[] = {{.type = SS_NVTX_TYPE_SIZE, .name = "Bytes"}};
    static const struct ss_nvtx_entry make[] = {
        {.type = SS_NVTX_TYPE_UINT64, .name = "NCCL communicator ID"},
        {.type = SS_NVTX_TYPE_INT, .name = "No. of ranks", .offset = 8},
        {.type = SS_NVTX_TYPE_INT, .name = "CUDA device", .offset = 12}};
    static const struct ss_nvtx_entry all[] = {
        {.type = SS_NVTX_TYPE_UINT64, .name = "NCCL communicator ID"},
        {.type = SS_NVTX_TYPE_INT, .name = "No. of devices", .offset = 8}};
    static const struct ss_nvtx_enum_value values[] = {{"Sum", 0, 0}, {"Avg", 4, 0}};
    struct ss_nvtx_enum reductions = {.fields = SS_NVTX_ENUM_HAS_ENTRIES | SS_NVTX_ENUM_HAS_COUNT |
                                                SS_NVTX_ENUM_HAS_ID,
                                      .entries = values,
                                      .entry_count = 2,
                                      .id = REDUCTION};
    PAYLOAD(SS_NVTX_ENUM_REGISTER, register_enum)(domain, &reductions);
    add_schema(CALL, call, 3);
    add_schema(OLD_CALL, old, 1);
    add_schema(MAKE, make, 3);
    add_schema(ALL, all, 2);
}

static int setup(void **state)
{
    (void)state;
    nvtx_program_init(&program);
    bool is_loaded = own_recording_start(&own) && nvtx_program_load(&program) == 1 &&
                     nvtx_load_extension(SS_NVTX_EXT_PAYLOAD, SS_NVTX_EXT_PAYLOAD_OLDER,
                                         program.payload, NVTX_SLOTS - 1) == 1;
    domain = is_loaded ? CORE2(SS_NVTX_DOMAIN_CREATE_A, create_domain)("NCCL") : NULL;
    if (domain != NULL) {
        add_schemas();
    }
    return domain != NULL ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    own_recording_stop(&own);
    return 0;
}

static void push(const char *function, uint64_t schema, const void *data, size_t size)
{
    struct ss_nvtx_payload payload = {schema, size, data};
    struct ss_nvtx_event event = {
        .version = 3,
        .size = sizeof event,
        .payload_type = data != NULL ? SS_NVTX_EXTENDED : SS_NVTX_NO_PAYLOAD,
        .reserved = 1,
        .payload.u64 = (uintptr_t)&payload,
        .message_type = SS_NVTX_REGISTERED,
        .message.registered = CORE2(SS_NVTX_REGISTER_A, register_string)(domain, function)};
    CORE2(SS_NVTX_DOMAIN_PUSH, push_in)(domain, &event);
}

static void pop(void)
{
    CORE2(SS_NVTX_DOMAIN_POP, pop_in)(domain);
}

static void call(const char *function, uint64_t communicator, size_t bytes, int reduction)
{
    struct call arguments = {communicator, bytes, reduction};
    push(function, CALL, &arguments, sizeof arguments);
    pop();
}

/* As NCCL says it: at the end. */
static void make(uint64_t communicator, int ranks, int device)
{
    struct make arguments = {communicator, ranks, device};
    struct ss_nvtx_payload payload = {MAKE, sizeof arguments, &arguments};
    push("ncclCommInitRank", 0, NULL, 0);
    PAYLOAD(SS_NVTX_POP_PAYLOAD, pop_payload)(domain, &payload, 1);
}

static void end(uint64_t communicator)
{
    struct make arguments = {communicator, 0, 0};
    push("ncclCommDestroy", MAKE, &arguments, sizeof arguments);
    pop();
}

static void forget(void)
{
    own_recording_read(&own);
}

/* --- communicators and numbers ---------------------------------------------------------------- */

static void test_calls_are_counted_by_communicator(void **state)
{
    (void)state;
    make(0x12, 8, 0);
    make(0x34, 2, 0);
    forget();
    call("ncclAllReduce", 0x12, 4000, 0);
    call("ncclReduceScatter", 0x34, 8, 4);
    call("ncclSend", 0x12, 16, 7);
    call("ncclAllGather", 0x12, 32, 7);
    assert_string_equal(
        own_recording_read(&own),
        "fact name=nccl.source value=\"NCCL's ranges of NVTX\"\n"
        "begin name=nccl:AllReduce domain=nccl group=NCCL 0000000000000012/8 number=0 reduction=1 "
        "value=4000 category=nccl\nend\n"
        "begin name=nccl:ReduceScatter domain=nccl group=NCCL 0000000000000034/2 number=0 "
        "reduction=5 value=8 category=nccl\n"
        "end\n"
        "begin name=nccl:Send domain=nccl group=NCCL 0000000000000012/8 value=16 category=nccl\n"
        "end\n"
        "begin name=nccl:AllGather domain=nccl group=NCCL 0000000000000012/8 number=1 value=32 "
        "category=nccl\nend\n");
    end(0x12);
    assert_string_equal(own_recording_read(&own),
                        "push name=ncclCommDestroy domain=NCCL\npop domain=NCCL\n");
    end(0x34);
    forget();
}

/* Calls do not name the rank: the number of a communicator with two ranks here is not known. */
static void test_two_ranks_in_a_process(void **state)
{
    (void)state;
    make(0x56, 2, 0);
    make(0x56, 2, 1);
    forget();
    call("ncclAllReduce", 0x56, 4, 0);
    assert_string_equal(own_recording_read(&own),
                        "begin name=nccl:AllReduce domain=nccl group=NCCL 0000000000000056/2 "
                        "reduction=1 value=4 category=nccl\n"
                        "end\n");
    end(0x56);
    end(0x56);
    struct {
        uint64_t communicator;
        int devices;
    } all = {0x78, 4};
    struct ss_nvtx_payload payload = {ALL, sizeof all, &all};
    push("ncclCommInitAll", 0, NULL, 0);
    PAYLOAD(SS_NVTX_POP_PAYLOAD, pop_payload)(domain, &payload, 1);
    forget();
    call("ncclAllGather", 0x78, 4, 9);
    assert_non_null(strstr(own_recording_read(&own), " group=NCCL 0000000000000078/4 value=4 "));
}

/* Up to NCCL 2.24: one communicator is known by its number among those of the process. */
static void test_calls_without_a_communicator(void **state)
{
    (void)state;
    size_t bytes = 64;
    push("ncclCommInitRankConfig", 0, NULL, 0);
    pop();
    forget();
    push("ncclBroadcast", OLD_CALL, &bytes, sizeof bytes);
    pop();
    assert_non_null(
        strstr(own_recording_read(&own), " group=NCCL communicator 0/0 number=0 value=64 "));
    push("ncclCommInitRankConfig", 0, NULL, 0);
    pop();
    forget();
    push("ncclBroadcast", OLD_CALL, &bytes, sizeof bytes);
    pop();
    assert_string_equal(own_recording_read(&own),
                        "begin name=nccl:Broadcast domain=nccl value=64 category=nccl\n"
                        "end\n");
}

/* --- what no NCCL does ------------------------------------------------------------------------ */

static void test_calls_that_are_none(void **state)
{
    (void)state;
    struct ss_nvtx_event empty = {.version = 3, .size = sizeof empty}, tiny = {.size = 4};
    struct call cut = {0x99, 1, 0};
    for (int i = 0; i < 100; i++) { /* deeper than any call of NCCL */
        push("ncclAllReduce", CALL, &cut, sizeof cut);
    }
    for (int i = 0; i < 110; i++) {
        pop();
    }
    CORE2(SS_NVTX_DOMAIN_PUSH, push_in)(domain, NULL);
    CORE2(SS_NVTX_DOMAIN_PUSH, push_in)(domain, &empty);
    CORE2(SS_NVTX_DOMAIN_PUSH, push_in)(domain, &tiny);
    pop();
    pop();
    pop();
    push("ncclGroupEnd", 0, NULL, 0);
    pop();
    push("ncclCommInitRank", MAKE, &cut, 3);
    pop();
    end(0xabcdef);
    forget();
    push("ncclAllReduce", CALL, &cut, 12); /* the bytes are not all there */
    pop();
    assert_non_null(strstr(own_recording_read(&own), " group=NCCL 0000000000000099/0 "));
    push("ncclAllReduce", SS_NVTX_FIRST_STATIC + 99, &cut, sizeof cut);
    pop();
    assert_non_null(strstr(own_recording_read(&own), "begin name=nccl:AllReduce domain=nccl "));
    push("ncclMemAlloc", 0, NULL, 0);
    pop();
    assert_string_equal(own_recording_read(&own),
                        "push name=ncclMemAlloc domain=NCCL\npop domain=NCCL\n");
}

/* --- version 1.3 of the extension ------------------------------------------------------------- */

/* Its first edition has two functions, and other numbers of some types. */
static void test_the_first_edition(void **state)
{
    (void)state;
    static const struct ss_nvtx_entry good[] = {{.type = SS_NVTX_TYPE_SIZE}},
                                      other[] = {{.type = SS_NVTX_TYPE_SIZE}, {.type = 68}};
    intptr_t slots[2] = {0, 0};
    assert_int_equal(nvtx_load_extension(SS_NVTX_EXT_PAYLOAD, SS_NVTX_EXT_PAYLOAD_OLDER, slots, 2),
                     1);
    register_schema *add = (register_schema *)slots[0];
    struct ss_nvtx_schema schema = {
        .fields = FIELDS & ~SS_NVTX_SCHEMA_HAS_ID, .type = SS_NVTX_SCHEMA_STATIC, .entry_count = 1};
    assert_non_null(add);
    assert_int_equal(add(NULL, NULL), 0);
    schema.entries = good;
    assert_int_not_equal(add(NULL, &schema), 0);
    schema.entries = other;
    schema.entry_count = 2;
    assert_int_equal(add(NULL, &schema), 0);
    assert_int_equal(nvtx_load_extension(SS_NVTX_EXT_PAYLOAD, 0x0102, slots, 2), 0);
}

int main(int argc, char **argv)
{
    (void)argc;
    own_recording_folder(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_calls_are_counted_by_communicator, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_ranks_in_a_process, setup, teardown),
        cmocka_unit_test_setup_teardown(test_calls_without_a_communicator, setup, teardown),
        cmocka_unit_test_setup_teardown(test_calls_that_are_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_first_edition, setup, teardown),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    own_recording_remove_folder();
    return failed;
}
