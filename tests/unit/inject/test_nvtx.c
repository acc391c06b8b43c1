/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with NVTX: all their arguments come out of the rings with their meaning, or do
 * nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../fakes/nvtx_program.h"
#include "../../fakes/own_recording.h"

typedef int push_text(const char *);
typedef int push_wide(const wchar_t *);
typedef int push_event(const struct ss_nvtx_event *);
typedef int push_in(const void *, const struct ss_nvtx_event *);
typedef int pop(void);
typedef int pop_in(const void *);
typedef void mark_text(const char *);
typedef void mark_wide(const wchar_t *);
typedef void mark_event(const struct ss_nvtx_event *);
typedef void mark_in(const void *, const struct ss_nvtx_event *);
typedef uint64_t start_text(const char *);
typedef uint64_t start_wide(const wchar_t *);
typedef uint64_t start_event(const struct ss_nvtx_event *);
typedef uint64_t start_in(const void *, const struct ss_nvtx_event *);
typedef void end_range(uint64_t);
typedef void end_in(const void *, uint64_t);
typedef const void *create_domain(const char *);
typedef const void *create_domain_wide(const wchar_t *);
typedef void destroy_domain(const void *);
typedef const void *register_text(const void *, const char *);
typedef const void *register_wide(const void *, const wchar_t *);
typedef void name_category(uint32_t, const char *);
typedef void name_category_in(const void *, uint32_t, const char *);
typedef void name_category_in_wide(const void *, uint32_t, const wchar_t *);
typedef void name_thing(const void *, const char *);
typedef void name_thing_wide(const void *, const wchar_t *);
typedef void name_number(uint32_t, const char *);
typedef void name_number_wide(uint32_t, const wchar_t *);
typedef const void *create_resource(const void *, const struct ss_nvtx_resource *);
typedef const void *create_sync(const void *, const struct ss_nvtx_sync *);
typedef void sync_call(const void *);

#define CORE(slot, type) NVTX_CALL(&program, SS_NVTX_CORE, slot, type *)
#define CORE2(slot, type) NVTX_CALL(&program, SS_NVTX_CORE2, slot, type *)
#define SYNC(slot, type) NVTX_CALL(&program, SS_NVTX_SYNC, slot, type *)

static struct nvtx_program program;
static struct own_recording own;

static int setup(void **state)
{
    (void)state;
    nvtx_program_init(&program);
    return own_recording_start(&own) && nvtx_program_load(&program) == 1 ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    own_recording_stop(&own);
    return 0;
}

static struct ss_nvtx_event event_of(const char *text)
{
    struct ss_nvtx_event event = {.version = SS_NVTX_VERSION, .size = sizeof event};
    event.message_type = SS_NVTX_ASCII;
    event.message.ascii = text;
    return event;
}

/* --- loading --------------------------------------------------------------------------------- */

static void test_all_slots_are_filled(void **state)
{
    (void)state;
    for (unsigned module = 1; module < SS_NVTX_MODULE_COUNT; module++) {
        for (unsigned i = 1; i < program.sizes[module]; i++) {
            assert_non_null(program.functions[module][i]);
        }
        assert_null(program.functions[module][0]);
    }
    assert_int_equal(program.tool_version, SS_NVTX_VERSION);
}

/* Of older and of later headers. */
static void test_other_tables(void **state)
{
    (void)state;
    static struct nvtx_program other;
    nvtx_program_init(&other);
    other.sizes[SS_NVTX_CORE2] = SS_NVTX_DOMAIN_POP; /* the last that it has comes before */
    other.sizes[SS_NVTX_CORE] = SS_NVTX_CORE_COUNT + 5;
    other.addresses[SS_NVTX_CORE][SS_NVTX_MARK_A] = NULL;
    assert_int_equal(nvtx_program_load(&other), 1);
    assert_non_null(other.functions[SS_NVTX_CORE2][SS_NVTX_DOMAIN_PUSH]);
    assert_null(other.functions[SS_NVTX_CORE2][SS_NVTX_DOMAIN_POP]);
    assert_null(other.functions[SS_NVTX_CORE][SS_NVTX_MARK_A]);
    assert_null(other.functions[SS_NVTX_CORE][SS_NVTX_CORE_COUNT]);
    assert_int_equal(nvtx_program_load(&other), 1); /* once more: nothing changes */
}

static const void *no_table(uint32_t id)
{
    (void)id;
    return NULL;
}

static void test_what_is_no_loader_is_refused(void **state)
{
    (void)state;
    static struct nvtx_program other;
    assert_int_equal(InitializeInjectionNvtx2(NULL), 0);
    assert_int_equal(InitializeInjectionNvtx2(no_table), 0);
    nvtx_program_init(&other);
    other.callbacks.struct_size = 8;
    assert_int_equal(nvtx_program_load(&other), 0);
    assert_null(other.functions[SS_NVTX_CORE][SS_NVTX_PUSH_A]);
    nvtx_program_init(&other);
    other.version.struct_size = 0; /* a pity, and no more */
    assert_int_equal(nvtx_program_load(&other), 1);
    assert_int_equal(other.tool_version, 0);
}

static void test_extensions_that_we_do_not_know_are_refused(void **state)
{
    (void)state;
    intptr_t slots[NVTX_SLOTS] = {0};
    assert_int_equal(InitializeInjectionNvtxExtension(NULL), 0);
    assert_int_equal(nvtx_load_extension(1, 0x0102, slots, 63), 0);  /* memory */
    assert_int_equal(nvtx_load_extension(99, 0x0100, slots, 63), 0); /* none of today's */
    assert_int_equal(nvtx_load_extension(SS_NVTX_EXT_PAYLOAD, 0x0201, slots, 63), 0);
    assert_int_equal(nvtx_load_extension(SS_NVTX_EXT_PAYLOAD, SS_NVTX_EXT_PAYLOAD_KIND, NULL, 63),
                     0);
    for (size_t i = 0; i < NVTX_SLOTS; i++) {
        assert_int_equal(slots[i], 0);
    }
    assert_int_equal(nvtx_load_extension(SS_NVTX_EXT_PAYLOAD, SS_NVTX_EXT_PAYLOAD_KIND, slots, 3),
                     1);
    assert_int_not_equal(slots[SS_NVTX_MARK_PAYLOAD], 0);
    assert_int_equal(slots[SS_NVTX_PUSH_PAYLOAD], 0); /* it has three slots only */
}

/* --- ranges and marks ------------------------------------------------------------------------ */

static void test_every_way_to_mark_a_range(void **state)
{
    (void)state;
    struct ss_nvtx_event event = event_of("event");
    const void *domain = CORE2(SS_NVTX_DOMAIN_CREATE_A, create_domain)("domain");
    assert_int_equal(CORE(SS_NVTX_PUSH_A, push_text)("text"), 0);
    assert_int_equal(CORE(SS_NVTX_PUSH_W, push_wide)(L"wide \u00e9\u20ac\U0001F600"), 1);
    assert_int_equal(CORE(SS_NVTX_PUSH_EX, push_event)(&event), 2);
    assert_int_equal(CORE2(SS_NVTX_DOMAIN_PUSH, push_in)(domain, &event), 3);
    assert_int_equal(CORE(SS_NVTX_POP, pop)(), 2); /* the domain's continues */
    assert_int_equal(CORE2(SS_NVTX_DOMAIN_POP, pop_in)(domain), 2);
    assert_int_equal(CORE2(SS_NVTX_DOMAIN_POP, pop_in)(domain), -1); /* it has no other */
    assert_int_equal(CORE2(SS_NVTX_DOMAIN_POP, pop_in)(NULL), 1);
    assert_int_equal(CORE(SS_NVTX_POP, pop)(), 0);
    assert_int_equal(CORE(SS_NVTX_POP, pop)(), -1);
    assert_string_equal(own_recording_read(&own), "push name=text\n"
                                                  "push name=wide \u00e9\u20ac\U0001F600\n"
                                                  "push name=event\n"
                                                  "push name=event domain=domain\n"
                                                  "pop\npop domain=domain\npop\npop\n");
}

static void test_every_way_to_mark_a_moment(void **state)
{
    (void)state;
    struct ss_nvtx_event event = event_of("event");
    const void *domain = CORE2(SS_NVTX_DOMAIN_CREATE_W, create_domain_wide)(L"wide domain");
    CORE(SS_NVTX_MARK_A, mark_text)("text");
    CORE(SS_NVTX_MARK_W, mark_wide)(L"wide");
    CORE(SS_NVTX_MARK_EX, mark_event)(&event);
    CORE2(SS_NVTX_DOMAIN_MARK, mark_in)(domain, &event);
    assert_string_equal(own_recording_read(&own), "mark name=text\nmark name=wide\n"
                                                  "mark name=event\n"
                                                  "mark name=event domain=wide domain\n");
}

struct ending {
    uint64_t id;
};

static void *end_elsewhere(void *context)
{
    CORE(SS_NVTX_END, end_range)(((struct ending *)context)->id);
    return NULL;
}

static void test_ranges_that_any_thread_ends(void **state)
{
    (void)state;
    struct ss_nvtx_event event = event_of("event");
    pthread_t thread;
    struct ending ending = {CORE(SS_NVTX_START_A, start_text)("text")};
    uint64_t second = CORE(SS_NVTX_START_W, start_wide)(L"wide");
    uint64_t third = CORE(SS_NVTX_START_EX, start_event)(&event);
    uint64_t fourth = CORE2(SS_NVTX_DOMAIN_START, start_in)(NULL, &event);
    assert_true(ending.id != 0 && second != 0 && third != 0 && ending.id != second);
    assert_string_equal(own_recording_read(&own), "begin name=text\nbegin name=wide\n"
                                                  "begin name=event\nbegin name=event\n");
    assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, &ending), 0);
    pthread_join(thread, NULL);
    CORE(SS_NVTX_END, end_range)(second);
    CORE2(SS_NVTX_DOMAIN_END, end_in)(NULL, third);
    CORE2(SS_NVTX_DOMAIN_END, end_in)(NULL, fourth);
    CORE(SS_NVTX_END, end_range)(0);      /* begun without a recording */
    CORE(SS_NVTX_END, end_range)(123456); /* never begun: the recorder counts it */
    assert_string_equal(own_recording_read(&own), "end\nend\nend\nend\nend\n");
}

static void test_nothing_happens_without_a_recording(void **state)
{
    (void)state;
    struct ss_nvtx_event event = event_of("event");
    ss_annot_stop(own.annot);
    assert_int_equal(CORE(SS_NVTX_PUSH_A, push_text)("off"), SS_NVTX_NOT_TRACKED);
    assert_int_equal(CORE(SS_NVTX_PUSH_EX, push_event)(&event), SS_NVTX_NOT_TRACKED);
    assert_int_equal(CORE(SS_NVTX_POP, pop)(), SS_NVTX_NOT_TRACKED);
    assert_int_equal(CORE(SS_NVTX_START_A, start_text)("off"), 0);
    CORE(SS_NVTX_MARK_A, mark_text)("off");
    assert_non_null(CORE2(SS_NVTX_DOMAIN_CREATE_A, create_domain)("made while off"));
    assert_non_null(CORE2(SS_NVTX_REGISTER_A, register_text)(NULL, "registered while off"));
    assert_string_equal(own_recording_read(&own), "");
}

/* --- attributes ------------------------------------------------------------------------------ */

static void test_payloads_of_every_type(void **state)
{
    (void)state;
    struct ss_nvtx_event event = event_of("p");
    event.payload.u64 = UINT64_MAX;
    for (int32_t type = -3; type < 12; type++) {
        event.payload_type = type;
        CORE(SS_NVTX_MARK_EX, mark_event)(&event);
    }
    event.payload_type = SS_NVTX_DOUBLE;
    event.payload.f64 = -0.25;
    CORE(SS_NVTX_MARK_EX, mark_event)(&event);
    event.payload_type = SS_NVTX_FLOAT;
    event.payload.f32 = 1.5F;
    CORE(SS_NVTX_MARK_EX, mark_event)(&event);
    const char *log = own_recording_read(&own);
    assert_non_null(strstr(log, "mark name=p value=18446744073709551615u\nmark name=p value=-1\n"));
    assert_non_null(strstr(log, "mark name=p value=4294967295u\nmark name=p value=-1\n"));
    assert_non_null(strstr(log, "mark name=p value=-0.25\nmark name=p value=1.5\n"));
    assert_int_equal(strncmp(log, "mark name=p\nmark name=p\nmark name=p\nmark name=p\n", 48), 0);
}

static void test_colours_and_categories_are_of_each_event(void **state)
{
    (void)state;
    struct ss_nvtx_event event = event_of("styled");
    const void *domain = CORE2(SS_NVTX_DOMAIN_CREATE_A, create_domain)("with categories");
    CORE2(SS_NVTX_DOMAIN_CATEGORY_A, name_category_in)(domain, 7, "input");
    CORE2(SS_NVTX_DOMAIN_CATEGORY_W, name_category_in_wide)(domain, 8, L"output");
    CORE(SS_NVTX_NAME_CATEGORY_A, name_category)(7, "of the default domain");
    event.category = 7;
    CORE2(SS_NVTX_DOMAIN_MARK, mark_in)(domain, &event);
    CORE(SS_NVTX_MARK_EX, mark_event)(&event);
    event.category = 8;
    event.colour_type = SS_NVTX_ARGB;
    event.colour = 0x8000ff00;
    CORE2(SS_NVTX_DOMAIN_MARK, mark_in)(domain, &event);
    event.category = 12345; /* it has no name */
    event.colour = 0x0000ff;
    CORE2(SS_NVTX_DOMAIN_MARK, mark_in)(domain, &event);
    event.colour_type = 77;
    event.category = 0;
    CORE2(SS_NVTX_DOMAIN_MARK, mark_in)(domain, &event);
    assert_string_equal(own_recording_read(&own),
                        "mark name=styled domain=with categories category=input\n"
                        "mark name=styled category=of the default domain\n"
                        "mark name=styled domain=with categories category=output colour=8000ff00\n"
                        "mark name=styled domain=with categories category=12345 colour=ff0000ff\n"
                        "mark name=styled domain=with categories\n");
}

static void test_strings_that_were_registered(void **state)
{
    (void)state;
    const void *text = CORE2(SS_NVTX_REGISTER_A, register_text)(NULL, "once and for all");
    const void *wide = CORE2(SS_NVTX_REGISTER_W, register_wide)(NULL, L"wide for all");
    struct ss_nvtx_event event = event_of(NULL);
    assert_true(text != NULL && wide != NULL && text != wide);
    assert_ptr_equal(text, CORE2(SS_NVTX_REGISTER_A, register_text)(NULL, "once and for all"));
    event.message_type = SS_NVTX_REGISTERED;
    event.message.registered = text;
    CORE(SS_NVTX_MARK_EX, mark_event)(&event);
    event.message.registered = wide;
    CORE(SS_NVTX_MARK_EX, mark_event)(&event);
    event.message.registered = &event; /* none of ours: it becomes name 0, nothing is read */
    CORE(SS_NVTX_MARK_EX, mark_event)(&event);
    event.message.registered = NULL;
    CORE(SS_NVTX_MARK_EX, mark_event)(&event);
    assert_string_equal(own_recording_read(&own), "mark name=once and for all\n"
                                                  "mark name=wide for all\nmark\nmark\n");
}

/* A buffer that holds another text each time, at one address. */
static void test_messages_are_read_each_time(void **state)
{
    (void)state;
    char buffer[32];
    for (int i = 0; i < 4; i++) {
        snprintf(buffer, sizeof buffer, "step %d", i % 2);
        CORE(SS_NVTX_MARK_A, mark_text)(buffer);
        snprintf(buffer, sizeof buffer, "step"); /* the same beginning */
        CORE(SS_NVTX_MARK_A, mark_text)(buffer);
    }
    assert_string_equal(own_recording_read(&own),
                        "mark name=step 0\nmark name=step\nmark name=step 1\nmark name=step\n"
                        "mark name=step 0\nmark name=step\nmark name=step 1\nmark name=step\n");
}

/* What PyTorch's emit_nvtx writes: a name for each would soon be all names that there are. */
static void test_numbers_in_names_become_payloads(void **state)
{
    (void)state;
    static const char *const texts[] = {"aten::add, seq = 12, op_id = 34, sizes = [[2, 3], []]",
                                        "aten::add, op_id = 35", "aten::add, seq = x", ", seq = 5",
                                        "aten::add, seq = 18446744073709551"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CORE(SS_NVTX_PUSH_A, push_text)(texts[i]);
        CORE(SS_NVTX_POP, pop)();
    }
    assert_true(CORE(SS_NVTX_START_A, start_text)(texts[0]) != 0);
    assert_string_equal(own_recording_read(&own),
                        "push name=aten::add value=12u\npop\n"
                        "push name=aten::add value=35u\npop\n"
                        "push name=aten::add, seq = x\npop\n"
                        "push name=, seq = 5\npop\n"
                        "push name=aten::add value=18446744073709551u\npop\n"
                        "begin name=aten::add value=12u\n");
}

/* --- what no program should do ---------------------------------------------------------------- */

static void test_attributes_that_are_none(void **state)
{
    (void)state;
    struct ss_nvtx_event event = event_of("not read");
    event.category = 3;
    assert_int_equal(CORE(SS_NVTX_PUSH_EX, push_event)(NULL), 0);
    CORE(SS_NVTX_POP, pop)();
    for (size_t size = 0; size < sizeof event; size += 4) {
        event.size = (uint16_t)size;
        CORE(SS_NVTX_PUSH_EX, push_event)(&event);
        CORE(SS_NVTX_POP, pop)();
    }
    event.size = UINT16_MAX; /* a later one: what we know of it is as it was */
    event.version = 99;
    CORE(SS_NVTX_MARK_EX, mark_event)(&event);
    event.message.ascii = NULL;
    CORE(SS_NVTX_MARK_EX, mark_event)(&event);
    event.message_type = SS_NVTX_WIDE;
    CORE(SS_NVTX_MARK_EX, mark_event)(&event);
    event.message_type = -5;
    CORE(SS_NVTX_MARK_EX, mark_event)(&event);
    const char *log = own_recording_read(&own);
    assert_null(strstr(log, "push name=not read"));
    assert_non_null(strstr(log, "mark name=not read category=3\n"
                                "mark name=<no message> category=3\n"
                                "mark name=<no message> category=3\n"
                                "mark name=<no message> category=3\n"));
}

static void test_pointers_that_are_null(void **state)
{
    (void)state;
    CORE(SS_NVTX_PUSH_A, push_text)(NULL);
    CORE(SS_NVTX_PUSH_W, push_wide)(NULL);
    CORE(SS_NVTX_MARK_A, mark_text)(NULL);
    CORE(SS_NVTX_MARK_W, mark_wide)(NULL);
    CORE(SS_NVTX_NAME_CATEGORY_A, name_category)(1, NULL);
    CORE(SS_NVTX_NAME_THREAD_A, name_number)(1, NULL);
    CORE(SS_NVTX_NAME_THREAD_W, name_number_wide)(1, NULL);
    assert_non_null(CORE2(SS_NVTX_DOMAIN_CREATE_A, create_domain)(NULL));
    assert_non_null(CORE2(SS_NVTX_DOMAIN_CREATE_W, create_domain_wide)(NULL));
    CORE2(SS_NVTX_REGISTER_A, register_text)(NULL, NULL);
    CORE2(SS_NVTX_REGISTER_W, register_wide)(NULL, NULL);
    CORE2(SS_NVTX_RESOURCE_CREATE, create_resource)(NULL, NULL);
    NVTX_CALL(&program, SS_NVTX_CUDA, 3, name_thing *)(NULL, NULL);
    NVTX_CALL(&program, SS_NVTX_CUDA, 4, name_thing_wide *)(NULL, NULL);
    for (int i = SS_NVTX_SYNC_DESTROY; i < SS_NVTX_SYNC_COUNT; i++) {
        SYNC(i, sync_call)(NULL);
        SYNC(i, sync_call)(&program);
    }
    assert_string_equal(own_recording_read(&own), "push\npush\nmark\nmark\n");
}

static void test_domains_that_are_none(void **state)
{
    (void)state;
    struct ss_nvtx_event event = event_of("lost");
    const void *domain = CORE2(SS_NVTX_DOMAIN_CREATE_A, create_domain)("destroyed");
    CORE2(SS_NVTX_DOMAIN_MARK, mark_in)(&event, &event);
    CORE2(SS_NVTX_DOMAIN_DESTROY, destroy_domain)(domain);
    CORE2(SS_NVTX_DOMAIN_DESTROY, destroy_domain)(domain);
    CORE2(SS_NVTX_DOMAIN_DESTROY, destroy_domain)(NULL);
    CORE2(SS_NVTX_DOMAIN_MARK, mark_in)(domain, &event);
    assert_string_equal(own_recording_read(&own), "mark name=lost\n"
                                                  "mark name=lost domain=destroyed\n");
}

static void test_long_texts_are_cut(void **state)
{
    (void)state;
    enum { LONG = 1 << 20 };
    static char text[LONG + 1];
    static wchar_t wide[LONG + 1];
    memset(text, 'x', LONG);
    wmemset(wide, L'\u20ac', LONG);
    for (int i = 0; i < 2; i++) {
        CORE(SS_NVTX_MARK_A, mark_text)(text);
        CORE(SS_NVTX_MARK_W, mark_wide)(wide);
    }
    wide[0] = (wchar_t)0x7fffffff; /* no character */
    wide[1] = L'\0';
    CORE(SS_NVTX_MARK_W, mark_wide)(wide);
    const char *log = own_recording_read(&own);
    assert_int_equal(strspn(log + strlen("mark name="), "x"), SS_RING_MAX_TEXT_BYTES);
    assert_non_null(strstr(log, "mark name=\u20ac"));
    assert_non_null(strstr(log, "mark name=\ufffd\n"));
}

/* --- names of things ------------------------------------------------------------------------- */

static void test_things_have_names(void **state)
{
    (void)state;
    struct ss_nvtx_resource resource = {.version = SS_NVTX_VERSION,
                                        .size = sizeof resource,
                                        .type = 0x30001,
                                        .identifier = 0xabc,
                                        .message_type = SS_NVTX_ASCII,
                                        .message.ascii = "queue lock"};
    NVTX_CALL(&program, SS_NVTX_CUDA, 1, name_number *)(2, "the fast one");
    NVTX_CALL(&program, SS_NVTX_CUDA, 5, name_thing *)((void *)0x10, "copies");
    NVTX_CALL(&program, SS_NVTX_CUDA, 8, name_thing_wide *)((void *)0x20, L"ready");
    NVTX_CALL(&program, SS_NVTX_CUDART, 3, name_thing *)((void *)0x30, "compute");
    NVTX_CALL(&program, SS_NVTX_OPENCL, 5, name_thing *)((void *)0x40, "commands");
    assert_non_null(CORE2(SS_NVTX_RESOURCE_CREATE, create_resource)(NULL, &resource));
    resource.type = -1;
    assert_non_null(CORE2(SS_NVTX_RESOURCE_CREATE, create_resource)(NULL, &resource));
    resource.size = 8;
    assert_null(CORE2(SS_NVTX_RESOURCE_CREATE, create_resource)(NULL, &resource));
    assert_string_equal(own_recording_read(&own),
                        "fact name=cuda device 2 value=\"the fast one\"\n"
                        "fact name=cuda stream 0x10 value=\"copies\"\n"
                        "fact name=cuda event 0x20 value=\"ready\"\n"
                        "fact name=cuda stream 0x30 value=\"compute\"\n"
                        "fact name=opencl queue 0x40 value=\"commands\"\n"
                        "fact name=pthread mutex 0xabc value=\"queue lock\"\n"
                        "fact name=resource 0xabc value=\"queue lock\"\n");
}

static void test_threads_have_names(void **state)
{
    (void)state;
    int32_t self = (int32_t)syscall(SYS_gettid);
    CORE(SS_NVTX_NAME_THREAD_A, name_number)((uint32_t)self, "this one");
    assert_string_equal(own_recording_read(&own), "thread name=this one\n");
    assert_int_equal(own.last_tid, self);
    CORE(SS_NVTX_NAME_THREAD_W, name_number_wide)(7, L"another");
    assert_string_equal(own_recording_read(&own), "thread name=another\n");
    assert_int_equal(own.last_tid, 7);
}

static void test_waiting_and_holding_are_ranges(void **state)
{
    (void)state;
    struct ss_nvtx_sync sync = {SS_NVTX_VERSION, sizeof sync, SS_NVTX_ASCII, {.ascii = "pool"}};
    const void *object = SYNC(SS_NVTX_SYNC_CREATE, create_sync)(NULL, &sync);
    assert_non_null(object);
    SYNC(SS_NVTX_SYNC_ACQUIRE, sync_call)(object);
    SYNC(SS_NVTX_SYNC_FAILED, sync_call)(object);
    SYNC(SS_NVTX_SYNC_ACQUIRE, sync_call)(object);
    SYNC(SS_NVTX_SYNC_ACQUIRED, sync_call)(object);
    SYNC(SS_NVTX_SYNC_RELEASING, sync_call)(object);
    SYNC(SS_NVTX_SYNC_DESTROY, sync_call)(object);
    assert_string_equal(own_recording_read(&own), "begin name=wait pool\nend\n"
                                                  "begin name=wait pool\nend\n"
                                                  "begin name=hold pool\nend\n");
}

/* --- several at once ------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 2000 };

static void *load_and_mark(void *context)
{
    struct nvtx_program *mine = context;
    char text[32];
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 100 == 0 && nvtx_program_load(mine) != 1) {
            return NULL;
        }
        snprintf(text, sizeof text, "round %d", i % 50);
        struct ss_nvtx_event event = event_of(text);
        event.category = (uint32_t)i % 20 + 1;
        const void *domain = NVTX_CALL(mine, SS_NVTX_CORE2, SS_NVTX_DOMAIN_CREATE_A,
                                       create_domain *)(i % 2 == 0 ? "even" : "odd");
        NVTX_CALL(mine, SS_NVTX_CORE2, SS_NVTX_DOMAIN_PUSH, push_in *)(domain, &event);
        NVTX_CALL(mine, SS_NVTX_CORE, SS_NVTX_PUSH_A, push_text *)(text);
        NVTX_CALL(mine, SS_NVTX_CORE2, SS_NVTX_DOMAIN_POP, pop_in *)(domain);
        NVTX_CALL(mine, SS_NVTX_CORE, SS_NVTX_POP, pop *)();
    }
    return mine;
}

static void test_shared_objects_load_in_threads(void **state)
{
    (void)state;
    static struct nvtx_program programs[THREADS];
    pthread_t threads[THREADS];
    void *result;
    for (int i = 0; i < THREADS; i++) {
        nvtx_program_init(&programs[i]);
        assert_int_equal(pthread_create(&threads[i], NULL, load_and_mark, &programs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &programs[i]);
    }
    size_t lines = 0;
    const char *log;
    while (*(log = own_recording_read(&own)) != '\0') {
        assert_null(strstr(log, "unseen"));
        for (; *log != '\0'; log++) {
            lines += *log == '\n';
        }
    }
    assert_int_equal(lines, THREADS * ROUNDS * 4);
}

static void test_a_forked_child_marks_in_its_own_ring(void **state)
{
    (void)state;
    CORE(SS_NVTX_PUSH_A, push_text)("parent");
    pid_t child = fork();
    if (child == 0) {
        int level = CORE(SS_NVTX_PUSH_A, push_text)("child");
        const void *domain = CORE2(SS_NVTX_DOMAIN_CREATE_A, create_domain)("of a child");
        _exit(level == 0 && domain != NULL && CORE(SS_NVTX_POP, pop)() == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    CORE(SS_NVTX_POP, pop)();
    assert_string_equal(own_recording_read(&own), "push name=parent\npop\n");
}

int main(int argc, char **argv)
{
    (void)argc;
    own_recording_folder(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_slots_are_filled, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_tables, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_no_loader_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_extensions_that_we_do_not_know_are_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_every_way_to_mark_a_range, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_way_to_mark_a_moment, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ranges_that_any_thread_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_happens_without_a_recording, setup, teardown),
        cmocka_unit_test_setup_teardown(test_payloads_of_every_type, setup, teardown),
        cmocka_unit_test_setup_teardown(test_colours_and_categories_are_of_each_event, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_strings_that_were_registered, setup, teardown),
        cmocka_unit_test_setup_teardown(test_messages_are_read_each_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_numbers_in_names_become_payloads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_attributes_that_are_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pointers_that_are_null, setup, teardown),
        cmocka_unit_test_setup_teardown(test_domains_that_are_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_texts_are_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_things_have_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads_have_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waiting_and_holding_are_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shared_objects_load_in_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_forked_child_marks_in_its_own_ring, setup, teardown),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    own_recording_remove_folder();
    return failed;
}
