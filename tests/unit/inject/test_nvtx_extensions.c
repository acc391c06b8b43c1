/* SPDX-License-Identifier: Apache-2.0 */
/* The payload and counters' extensions of NVTX: schemas, deferred events, clocks, samples; and
 * invalid arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <time.h>

#include "../../fakes/nvtx_program.h"
#include "../../fakes/own_recording.h"

typedef uint64_t register_schema(const void *, const struct ss_nvtx_schema *);
typedef uint64_t register_enum(const void *, const struct ss_nvtx_enum *);
typedef void mark_payload(const void *, const struct ss_nvtx_payload *, size_t);
typedef int push_payload(const void *, const struct ss_nvtx_payload *, size_t);
typedef uint64_t start_payload(const void *, const struct ss_nvtx_payload *, size_t);
typedef void end_payload(const void *, uint64_t, const struct ss_nvtx_payload *, size_t);
typedef uint8_t is_enabled(const void *);
typedef int64_t get_time(void);
typedef uint64_t register_clock(const void *, const struct ss_nvtx_time_domain *);
typedef void sync_clocks(const void *, uint64_t, uint64_t, int64_t, int64_t);
typedef void convert_clocks(const void *, uint64_t, uint64_t, double, int64_t, int64_t);
typedef void timer_source(const void *, uint64_t, uint64_t, int64_t (*)(void));
typedef void submit_batch(const void *, const struct ss_nvtx_event_batch *);
typedef uint64_t register_scope(const void *, const struct ss_nvtx_scope *);
typedef uint64_t register_counter(const void *, const struct ss_nvtx_counter *);
typedef void sample_int64(const void *, uint64_t, int64_t);
typedef void sample_float64(const void *, uint64_t, double);
typedef void sample_bytes(const void *, uint64_t, const void *, size_t);
typedef void sample_nothing(const void *, uint64_t, uint8_t);
typedef void sample_batch(const void *, const struct ss_nvtx_counter_batch *);
typedef const void *create_domain(const char *);

#define PAYLOAD(slot, type) NVTX_PAYLOAD(&program, slot, type *)
#define COUNTER(slot, type) NVTX_COUNTER(&program, slot, type *)

enum { FIELDS = SS_NVTX_SCHEMA_HAS_TYPE | SS_NVTX_SCHEMA_HAS_ENTRIES | SS_NVTX_SCHEMA_HAS_COUNT };

static struct nvtx_program program;
static struct own_recording own;

static int setup(void **state)
{
    (void)state;
    nvtx_program_init(&program);
    bool is_loaded = own_recording_start(&own) && nvtx_program_load(&program) == 1 &&
                     nvtx_load_extension(SS_NVTX_EXT_PAYLOAD, SS_NVTX_EXT_PAYLOAD_KIND,
                                         program.payload, NVTX_SLOTS - 1) == 1 &&
                     nvtx_load_extension(SS_NVTX_EXT_COUNTERS, SS_NVTX_EXT_COUNTERS_KIND,
                                         program.counters, NVTX_SLOTS - 1) == 1;
    return is_loaded ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    own_recording_stop(&own);
    return 0;
}

static uint64_t schema_of(const struct ss_nvtx_entry *entries, size_t count)
{
    struct ss_nvtx_schema schema = {
        .fields = FIELDS, .type = SS_NVTX_SCHEMA_STATIC, .entries = entries, .entry_count = count};
    return PAYLOAD(SS_NVTX_SCHEMA_REGISTER, register_schema)(NULL, &schema);
}

static void mark_bytes(uint64_t schema, const void *data, size_t size)
{
    struct ss_nvtx_payload payload = {schema, size, data};
    PAYLOAD(SS_NVTX_MARK_PAYLOAD, mark_payload)(NULL, &payload, 1);
}

/* --- values ---------------------------------------------------------------------------------- */

static void test_numbers_of_every_type(void **state)
{
    (void)state;
    static const struct {
        uint64_t type;
        unsigned char bytes[16];
        size_t size;
        const char *log;
    } numbers[] = {{SS_NVTX_TYPE_CHAR, {0xff}, 1, "value=-1"},
                   {SS_NVTX_TYPE_UINT8, {0xff}, 1, "value=255u"},
                   {SS_NVTX_TYPE_INT16, {0xfe, 0xff}, 2, "value=-2"},
                   {SS_NVTX_TYPE_UINT16, {0xfe, 0xff}, 2, "value=65534u"},
                   {SS_NVTX_TYPE_INT, {0, 0, 0, 0x80}, 4, "value=-2147483648"},
                   {SS_NVTX_TYPE_UINT32, {1, 2, 0, 0}, 4, "value=513u"},
                   {SS_NVTX_TYPE_INT64, {0xfd, 255, 255, 255, 255, 255, 255, 255}, 8, "value=-3"},
                   {SS_NVTX_TYPE_SIZE, {7}, 8, "value=7u"},
                   {SS_NVTX_TYPE_FLOAT, {0, 0, 0xc0, 0x3f}, 4, "value=1.5"},
                   {SS_NVTX_TYPE_DOUBLE, {0, 0, 0, 0, 0, 0, 0xd0, 0xbf}, 8, "value=-0.25"},
                   {SS_NVTX_TYPE_FLOAT16, {0, 0x3e}, 2, "value=1.5"},
                   {SS_NVTX_TYPE_FLOAT16, {1, 0x80}, 2, "value=-5.96046e-08"},
                   {SS_NVTX_TYPE_FLOAT16, {0, 0x7c}, 2, "value=inf"},
                   {SS_NVTX_TYPE_BF16, {0xc0, 0x3f}, 2, "value=1.5"},
                   {SS_NVTX_TYPE_TF32, {0, 0, 0xc0, 0x3f}, 4, "value=1.5"},
                   {SS_NVTX_TYPE_UINT64, {1}, SIZE_MAX, "value=1u"},
                   {SS_NVTX_TYPE_INT64, {1}, 7, NULL}, /* not all there */
                   {SS_NVTX_TYPE_UINT128, {1}, 16, NULL},
                   {SS_NVTX_TYPE_SELECTOR, {1}, 16, NULL},
                   {SS_NVTX_TYPE_RAW, {1}, 16, NULL},
                   {0, {1}, 16, NULL},
                   {SS_NVTX_FIRST_STATIC + 77, {1}, 16, NULL},
                   {UINT64_MAX, {1}, 16, NULL}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char wanted[64];
        const char *value = numbers[i].log;
        snprintf(wanted, sizeof wanted, "mark name=<no message>%s%s\n", value != NULL ? " " : "",
                 value != NULL ? value : "");
        mark_bytes(numbers[i].type, numbers[i].bytes, numbers[i].size);
        assert_string_equal(own_recording_read(&own), wanted);
    }
}

static void test_texts_of_every_type(void **state)
{
    (void)state;
    mark_bytes(SS_NVTX_TYPE_CSTRING, "bytes", SIZE_MAX);
    mark_bytes(SS_NVTX_TYPE_CSTRING_UTF8, "cut off", 3);
    mark_bytes(SS_NVTX_TYPE_CSTRING_UTF16, u"wide \u20ac\U0001F600", SIZE_MAX);
    mark_bytes(SS_NVTX_TYPE_CSTRING_UTF16, u"\xd800 alone", SIZE_MAX);
    mark_bytes(SS_NVTX_TYPE_CSTRING_UTF32, U"wider \U0001F600", SIZE_MAX);
    assert_string_equal(own_recording_read(&own), "mark name=bytes\nmark name=cut\n"
                                                  "mark name=wide \u20ac\U0001F600\n"
                                                  "mark name=\ufffd alone\n"
                                                  "mark name=wider \U0001F600\n");
}

struct event {
    uint8_t flag; /* so that what follows is aligned */
    const char *message;
    uint32_t colour, category;
    char embedded[6];
    uint16_t mode;
    double value;
};

static void test_fields_of_a_schema(void **state)
{
    (void)state;
    static const struct ss_nvtx_enum_value modes[] = {{"train", 0, 0}, {"test", 1, 0}};
    struct ss_nvtx_enum mode = {.fields = SS_NVTX_ENUM_HAS_ENTRIES | SS_NVTX_ENUM_HAS_COUNT |
                                          SS_NVTX_ENUM_HAS_SIZE,
                                .entries = modes,
                                .entry_count = 2,
                                .size_bytes = 2};
    uint64_t mode_id = PAYLOAD(SS_NVTX_ENUM_REGISTER, register_enum)(NULL, &mode);
    struct ss_nvtx_entry entries[] = {/* An array is not kept, but takes its room. */
                                      {SS_NVTX_ENTRY_FIXED, SS_NVTX_TYPE_BYTE, NULL, NULL, 1},
                                      {SS_NVTX_ENTRY_MESSAGE, SS_NVTX_TYPE_CSTRING, "message"},
                                      {0, SS_NVTX_TYPE_COLOUR, "colour"},
                                      {0, SS_NVTX_TYPE_CATEGORY, "category"},
                                      {0, SS_NVTX_TYPE_CSTRING, "embedded", NULL, 6},
                                      {0, mode_id, "mode"},
                                      {0, SS_NVTX_TYPE_DOUBLE, "value"}};
    struct event event = {1, "said", 0xff00ff00, 5, "inside", 1, 0.5};
    mark_bytes(schema_of(entries, 7), &event, sizeof event);
    entries[4].type = SS_NVTX_TYPE_BYTE;
    entries[4].flags = SS_NVTX_ENTRY_FIXED;
    mark_bytes(schema_of(entries, 7), &event, sizeof event);
    event.mode = 9; /* none of the enumeration */
    mark_bytes(schema_of(entries, 7), &event, sizeof event);
    mark_bytes(schema_of(entries, 7), &event, offsetof(struct event, mode)); /* cut off */
    mark_bytes(schema_of(entries, 7), NULL, sizeof event);
    assert_string_equal(own_recording_read(&own),
                        "mark name=said value=\"inside\" category=5 colour=ff00ff00\n"
                        "mark name=said value=\"test\" category=5 colour=ff00ff00\n"
                        "mark name=said value=9u category=5 colour=ff00ff00\n"
                        "mark name=said category=5 colour=ff00ff00\n"
                        "mark name=<no message>\n");
}

static void test_schemas_within_schemas(void **state)
{
    (void)state;
    struct ss_nvtx_entry inner[] = {{0, SS_NVTX_TYPE_INT32, "a"},
                                    {SS_NVTX_ENTRY_MESSAGE, SS_NVTX_TYPE_REGISTERED, "b"}};
    struct ss_nvtx_entry outer[] = {{0, SS_NVTX_TYPE_CATEGORY, "x"},
                                    {0, schema_of(inner, 2), "inner"}};
    typedef const void *register_text(const void *, const char *);
    struct {
        uint32_t x;
        struct {
            int32_t a;
            const void *b;
        } inner;
    } event = {3, {-4, NULL}};
    event.inner.b =
        NVTX_CALL(&program, SS_NVTX_CORE2, SS_NVTX_REGISTER_A, register_text *)(NULL, "registered");
    mark_bytes(schema_of(outer, 2), &event, sizeof event);
    assert_string_equal(own_recording_read(&own), "mark name=registered value=-4 category=3\n");
}

static void test_ranges_with_payloads(void **state)
{
    (void)state;
    uint32_t number = 7;
    struct ss_nvtx_payload payloads[] = {{SS_NVTX_TYPE_UINT32, 4, &number},
                                         {SS_NVTX_TYPE_CSTRING, SIZE_MAX, "not marked as message"}};
    assert_int_equal(PAYLOAD(SS_NVTX_PUSH_PAYLOAD, push_payload)(NULL, payloads, 1), 0);
    assert_int_equal(PAYLOAD(SS_NVTX_PUSH_PAYLOAD, push_payload)(NULL, payloads + 1, 1), 1);
    assert_int_equal(PAYLOAD(SS_NVTX_POP_PAYLOAD, push_payload)(NULL, payloads, 2), 1);
    assert_int_equal(PAYLOAD(SS_NVTX_POP_PAYLOAD, push_payload)(NULL, NULL, 0), 0);
    uint64_t id = PAYLOAD(SS_NVTX_START_PAYLOAD, start_payload)(NULL, payloads + 1, 1);
    PAYLOAD(SS_NVTX_END_PAYLOAD, end_payload)(NULL, id, NULL, 0);
    assert_string_equal(own_recording_read(&own), "push name=<no message> value=7u\n"
                                                  "push name=not marked as message\npop\npop\n"
                                                  "begin name=not marked as message\nend\n");
    assert_int_equal(PAYLOAD(SS_NVTX_DOMAIN_ENABLED, is_enabled)(NULL), 1);
}

static void test_payloads_of_ordinary_events(void **state)
{
    (void)state;
    double number = 2.5;
    struct ss_nvtx_payload payload = {SS_NVTX_TYPE_DOUBLE, sizeof number, &number};
    struct ss_nvtx_event event = {.version = SS_NVTX_VERSION,
                                  .size = sizeof event,
                                  .payload_type = SS_NVTX_EXTENDED,
                                  .reserved = 1,
                                  .payload.u64 = (uintptr_t)&payload,
                                  .message_type = SS_NVTX_ASCII,
                                  .message.ascii = "event"};
    typedef void mark_event(const struct ss_nvtx_event *);
    mark_event *mark = NVTX_CALL(&program, SS_NVTX_CORE, SS_NVTX_MARK_EX, mark_event *);
    mark(&event);
    event.reserved = -1;
    mark(&event);
    event.reserved = 1;
    event.payload.u64 = 0;
    mark(&event);
    assert_string_equal(own_recording_read(&own),
                        "mark name=event value=2.5\nmark name=event\nmark name=event\n");
}

/* --- invalid arguments --------------------------------------------------------------------------
 */

static void test_schemas_that_are_none(void **state)
{
    (void)state;
    struct ss_nvtx_entry entry = {0, SS_NVTX_TYPE_INT32, "a"};
    struct ss_nvtx_schema schema = {.fields = FIELDS, .type = SS_NVTX_SCHEMA_STATIC};
    register_schema *add = PAYLOAD(SS_NVTX_SCHEMA_REGISTER, register_schema);
    assert_int_equal(add(NULL, NULL), 0);
    assert_int_equal(add(NULL, &schema), 0); /* no entries */
    schema.entries = &entry;
    schema.fields = SS_NVTX_SCHEMA_HAS_ENTRIES;
    assert_int_equal(add(NULL, &schema), 0); /* how many is not said */
    assert_int_equal(PAYLOAD(SS_NVTX_ENUM_REGISTER, register_enum)(NULL, NULL), 0);
    uint32_t bytes[4] = {1, 2, 3, 4};
    static const struct {
        uint64_t flags, type, detail, offset;
    } bad[] = {{0, SS_NVTX_TYPE_INT32, 0, UINT64_MAX},
               {0, SS_NVTX_TYPE_INT32, 0, 12345},
               {SS_NVTX_ENTRY_FIXED, SS_NVTX_TYPE_INT32, UINT64_MAX, 0},
               {SS_NVTX_ENTRY_FIXED, SS_NVTX_TYPE_INT32, 0, 0},
               {SS_NVTX_ENTRY_LENGTH_INDEX, SS_NVTX_TYPE_INT32, 0, 0},
               {7 << 4, SS_NVTX_TYPE_INT32, 99, 0},
               {SS_NVTX_ENTRY_FROM_BASE, SS_NVTX_TYPE_CSTRING, 0, 0},
               {0, SS_NVTX_TYPE_CSTRING, UINT64_MAX, 14},
               {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
               {0, SS_NVTX_FIRST_DYNAMIC + 12345, 0, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ss_nvtx_entry one = {bad[i].flags, bad[i].type,   NULL,
                                    NULL,         bad[i].detail, bad[i].offset};
        uint64_t id = schema_of(&one, 1);
        assert_int_not_equal(id, 0);
        mark_bytes(id, bytes, sizeof bytes);
    }
    const char *log = own_recording_read(&own);
    assert_null(strstr(log, "value"));
}

static void test_schemas_have_their_number(void **state)
{
    (void)state;
    struct ss_nvtx_entry entry = {0, SS_NVTX_TYPE_INT32, "a"};
    struct ss_nvtx_schema schema = {.fields = FIELDS | SS_NVTX_SCHEMA_HAS_ID,
                                    .type = SS_NVTX_SCHEMA_STATIC,
                                    .entries = &entry,
                                    .entry_count = 1,
                                    .id = SS_NVTX_FIRST_STATIC + 5};
    int32_t number = 11;
    register_schema *add = PAYLOAD(SS_NVTX_SCHEMA_REGISTER, register_schema);
    assert_int_equal(add(NULL, &schema), schema.id);
    assert_int_equal(add(NULL, &schema), schema.id); /* again, from another shared object */
    mark_bytes(schema.id, &number, sizeof number);
    assert_string_equal(own_recording_read(&own), "mark name=<no message> value=11\n");
    schema.id = 5; /* out of the program's numbers: it gets one of ours */
    assert_true(add(NULL, &schema) >= SS_NVTX_FIRST_DYNAMIC);
    uint64_t last = 1;
    for (int i = 0; i < 2000 && last != 0; i++) {
        last = schema_of(&entry, 1);
    }
    assert_int_equal(last, 0); /* there is an end to them */
}

/* --- clocks ---------------------------------------------------------------------------------- */

struct past {
    int64_t begin, end;
};

static int64_t now_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t past_schema(uint64_t clock)
{
    struct ss_nvtx_time_semantics time = {{sizeof time, SS_NVTX_SEMANTICS_TIME, 1, NULL}, clock};
    struct ss_nvtx_entry entries[] = {{SS_NVTX_ENTRY_BEGIN | SS_NVTX_ENTRY_TIMESTAMP,
                                       SS_NVTX_TYPE_INT64, "begin", NULL, 0, 0, &time.header},
                                      {SS_NVTX_ENTRY_END | SS_NVTX_ENTRY_TIMESTAMP,
                                       SS_NVTX_TYPE_INT64, "end", NULL, 0, 0, &time.header}};
    return schema_of(entries, 2);
}

static void submit(uint64_t schema, const struct past *past, size_t size)
{
    struct ss_nvtx_event_batch batch = {.schema = schema, .size = size, .events = past};
    PAYLOAD(SS_NVTX_EVENT_BATCH, submit_batch)(NULL, &batch);
}

/* A range that ended after `since_ns` by a clock ended between then and now for us, but for the
 * inaccuracy of a conversion. */
static void check_clock(uint64_t clock, struct past past, int64_t since_ns)
{
    const int64_t inaccuracy_ns = 1000000000;
    submit(past_schema(clock), &past, sizeof past);
    assert_string_equal(own_recording_read(&own), "begin name=<no message>\nend\n");
    int64_t until_ns = now_of(CLOCK_MONOTONIC);
    assert_in_range(own.last_ns, since_ns - inaccuracy_ns, until_ns + inaccuracy_ns);
}

static void test_clocks_of_the_system(void **state)
{
    (void)state;
    static const struct {
        uint64_t type;
        clockid_t clock;
    } clocks[] = {{SS_NVTX_CLOCK_MONOTONIC, CLOCK_MONOTONIC},
                  {SS_NVTX_CLOCK_REALTIME, CLOCK_REALTIME},
                  {SS_NVTX_CLOCK_BOOTTIME, CLOCK_BOOTTIME},
                  {SS_NVTX_CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW},
                  {SS_NVTX_CLOCK_STEADY, CLOCK_MONOTONIC},
                  {SS_NVTX_CLOCK_SYSTEM, CLOCK_REALTIME}};
    /* A conversion compares now with the first reading: two readings that are too close make no
     * slope. These are the system's clocks, which no test can move. */
    int64_t since_ns = now_of(CLOCK_MONOTONIC);
    while (now_of(CLOCK_MONOTONIC) < since_ns + 2000000) {
        sched_yield();
    }
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        since_ns = now_of(CLOCK_MONOTONIC);
        int64_t end = now_of(clocks[i].clock);
        check_clock(clocks[i].type, (struct past){end - 1000, end}, since_ns);
    }
    since_ns = now_of(CLOCK_MONOTONIC);
    int64_t end = PAYLOAD(SS_NVTX_TIMESTAMP_GET, get_time)();
    check_clock(SS_NVTX_CLOCK_TOOL, (struct past){end - 1000, end}, since_ns);
}

static int64_t ticks(void)
{
    return now_of(CLOCK_MONOTONIC) / 1000 - 12345;
}

static void test_clocks_of_the_program(void **state)
{
    (void)state;
    struct ss_nvtx_time_domain own_clock = {.id = SS_NVTX_FIRST_STATIC + 1};
    register_clock *add = PAYLOAD(SS_NVTX_TIME_DOMAIN_REGISTER, register_clock);
    assert_int_equal(add(NULL, NULL), 0);
    assert_int_equal(add(NULL, &own_clock), own_clock.id);
    struct past past = {1000, 2000};
    submit(past_schema(own_clock.id), &past, sizeof past);
    assert_string_equal(own_recording_read(&own), ""); /* its time is unknown */
    struct ss_annot_totals totals;
    ss_annot_get_totals(own.annot, &totals);
    assert_true(totals.dropped > 0);

    int64_t now = now_of(CLOCK_MONOTONIC); /* it shows µs, and began at 5 */
    PAYLOAD(SS_NVTX_SYNC_POINT, sync_clocks)
    (NULL, SS_NVTX_CLOCK_MONOTONIC, own_clock.id, now - 10000000, 5);
    PAYLOAD(SS_NVTX_SYNC_POINT, sync_clocks)
    (NULL, own_clock.id, SS_NVTX_CLOCK_MONOTONIC, 10005, now);
    check_clock(own_clock.id, (struct past){9005, 10005}, now);

    struct ss_nvtx_time_domain second = {.resolution = 1000000};
    second.id = add(NULL, &second);
    assert_true(second.id >= SS_NVTX_FIRST_DYNAMIC);
    PAYLOAD(SS_NVTX_TIMER_SOURCE, timer_source)(NULL, second.id, 0, ticks);
    now = now_of(CLOCK_MONOTONIC);
    check_clock(second.id, (struct past){ticks() - 5, ticks()}, now);

    uint64_t third = SS_NVTX_FIRST_STATIC + 3; /* never registered */
    now = now_of(CLOCK_MONOTONIC);
    PAYLOAD(SS_NVTX_CONVERSION_FACTOR, convert_clocks)
    (NULL, third, SS_NVTX_CLOCK_MONOTONIC, 1000, 7, now);
    check_clock(third, (struct past){6, 7}, now);
}

static void test_times_that_are_none(void **state)
{
    (void)state;
    static const int64_t times[] = {0, -1, INT64_MIN, INT64_MAX};
    static const uint64_t clocks[] = {SS_NVTX_CLOCK_TOOL, SS_NVTX_CLOCK_MONOTONIC,
                                      SS_NVTX_CLOCK_NONE, SS_NVTX_FIRST_STATIC + 99, UINT64_MAX};
    for (size_t c = 0; c < sizeof clocks / sizeof *clocks; c++) {
        uint64_t schema = past_schema(clocks[c]);
        for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
            struct past past[2] = {{times[i], times[3 - i]}, {times[i], times[i]}};
            submit(schema, past, sizeof past - 3); /* the second is cut off */
        }
        for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
            PAYLOAD(SS_NVTX_SYNC_POINT, sync_clocks)
            (NULL, SS_NVTX_CLOCK_MONOTONIC, clocks[c], times[i], times[3 - i]);
            PAYLOAD(SS_NVTX_CONVERSION_FACTOR, convert_clocks)
            (NULL, clocks[c], SS_NVTX_CLOCK_MONOTONIC, i == 0 ? -1 : 1e300, times[i], times[i]);
        }
        PAYLOAD(SS_NVTX_TIMER_SOURCE, timer_source)(NULL, clocks[c], 0, NULL);
    }
    submit(0, NULL, 100);
    PAYLOAD(SS_NVTX_EVENT_BATCH, submit_batch)(NULL, NULL);
    PAYLOAD(SS_NVTX_EVENT_SUBMIT, mark_payload)(NULL, NULL, 5);
    own_recording_read(&own); /* within the recording, whatever they were */
    assert_true(own.last_ns <= ss_clock_monotonic_ns());
}

/* --- counters -------------------------------------------------------------------------------- */

static void test_counters(void **state)
{
    (void)state;
    const void *domain =
        NVTX_CALL(&program, SS_NVTX_CORE2, SS_NVTX_DOMAIN_CREATE_A, create_domain *)("training");
    struct ss_nvtx_counter_semantics kind = {
        .header = {sizeof kind, SS_NVTX_SEMANTICS_COUNTER, 2, NULL},
        .flags = SS_NVTX_COUNTER_DELTA,
        .unit = "samples",
        .unit_numerator = 1,
        .unit_denominator = 1};
    struct ss_nvtx_counter counter = {.size = sizeof counter,
                                      .schema = SS_NVTX_TYPE_INT64,
                                      .name = "seen",
                                      .semantics = &kind.header};
    register_counter *add = COUNTER(SS_NVTX_COUNTER_REGISTER, register_counter);
    uint64_t seen = add(domain, &counter);
    counter.name = "loss";
    counter.semantics = NULL;
    counter.id = SS_NVTX_FIRST_STATIC + 9;
    assert_int_equal(add(NULL, &counter), counter.id);
    assert_int_equal(add(NULL, &counter), counter.id);
    COUNTER(SS_NVTX_COUNTER_INT64, sample_int64)(domain, seen, -5);
    COUNTER(SS_NVTX_COUNTER_FLOAT64, sample_float64)(NULL, counter.id, 0.5);
    COUNTER(SS_NVTX_COUNTER_NO_VALUE, sample_nothing)(domain, seen, SS_NVTX_SAMPLE_ZERO);
    COUNTER(SS_NVTX_COUNTER_NO_VALUE, sample_nothing)(domain, seen, SS_NVTX_SAMPLE_UNCHANGED);
    COUNTER(SS_NVTX_COUNTER_NO_VALUE, sample_nothing)(domain, seen, 99);
    int64_t values[3] = {1, 2, 3};
    int64_t times[3];
    for (int i = 0; i < 3; i++) {
        times[i] = PAYLOAD(SS_NVTX_TIMESTAMP_GET, get_time)();
    }
    struct ss_nvtx_counter_batch batch = {.counter = seen,
                                          .values = values,
                                          .values_size = sizeof values,
                                          .timestamps = times,
                                          .timestamps_size = sizeof times};
    COUNTER(SS_NVTX_COUNTER_BATCH, sample_batch)(domain, &batch);
    times[1] = 10; /* now a pair: the first time, and the time between two */
    batch.timestamps_size = 2 * sizeof *times;
    COUNTER(SS_NVTX_COUNTER_BATCH, sample_batch)(domain, &batch);
    assert_string_equal(own_recording_read(&own),
                        "count name=training/seen value=-5\ncount name=loss value=0.5\n"
                        "count name=training/seen value=0\n"
                        "count name=training/seen value=1\ncount name=training/seen value=2\n"
                        "count name=training/seen value=3\n"
                        "count name=training/seen value=1\ncount name=training/seen value=2\n"
                        "count name=training/seen value=3\n");
}

static void test_groups_of_counters(void **state)
{
    (void)state;
    struct ss_nvtx_counter_semantics kind = {
        .header = {sizeof kind, SS_NVTX_SEMANTICS_COUNTER, 2, NULL},
        .unit = "bytes",
        .unit_numerator = 1024,
        .unit_denominator = 1};
    struct ss_nvtx_entry entries[] = {{SS_NVTX_ENTRY_TIMESTAMP, SS_NVTX_TYPE_INT64, "when"},
                                      {0, SS_NVTX_TYPE_UINT64, "used"},
                                      {0, SS_NVTX_TYPE_FLOAT, "share"}};
    struct {
        int64_t when;
        uint64_t used;
        float share;
    } sample = {PAYLOAD(SS_NVTX_TIMESTAMP_GET, get_time)(), UINT64_MAX, 0.5F};
    struct ss_nvtx_counter counter = {
        .size = sizeof counter, .schema = schema_of(entries, 3), .name = "memory"};
    register_counter *add = COUNTER(SS_NVTX_COUNTER_REGISTER, register_counter);
    uint64_t id = add(NULL, &counter);
    COUNTER(SS_NVTX_COUNTER_SAMPLE, sample_bytes)(NULL, id, &sample, sizeof sample);
    COUNTER(SS_NVTX_COUNTER_SAMPLE, sample_bytes)(NULL, id, &sample, 16);
    counter.schema = SS_NVTX_TYPE_UINT32;
    counter.name = "scaled";
    counter.semantics = &kind.header;
    uint32_t value = 3;
    id = add(NULL, &counter);
    COUNTER(SS_NVTX_COUNTER_SAMPLE, sample_bytes)(NULL, id, &value, sizeof value);
    assert_string_equal(own_recording_read(&own), "count name=memory/used value=1.84467e+19\n"
                                                  "count name=memory/share value=0.5\n"
                                                  "count name=memory/used value=1.84467e+19\n"
                                                  "count name=scaled value=3072\n");
}

static void test_counters_that_are_none(void **state)
{
    (void)state;
    struct ss_nvtx_counter counter = {.size = sizeof counter};
    struct ss_nvtx_counter_batch batch = {.counter = 1, .values = &counter, .values_size = 64};
    register_counter *add = COUNTER(SS_NVTX_COUNTER_REGISTER, register_counter);
    assert_int_equal(add(NULL, NULL), 0);
    assert_int_equal(add(NULL, &counter), 0); /* it has no name */
    counter.name = "x";
    counter.size = 8;
    assert_int_equal(add(NULL, &counter), 0);
    counter.size = sizeof counter;
    counter.schema = UINT64_MAX;
    uint64_t id = add(NULL, &counter);
    COUNTER(SS_NVTX_COUNTER_SAMPLE, sample_bytes)(NULL, id, &batch, sizeof batch);
    COUNTER(SS_NVTX_COUNTER_SAMPLE, sample_bytes)(NULL, id, NULL, 8);
    COUNTER(SS_NVTX_COUNTER_INT64, sample_int64)(NULL, 0, 1);
    COUNTER(SS_NVTX_COUNTER_INT64, sample_int64)(NULL, UINT64_MAX, 1);
    COUNTER(SS_NVTX_COUNTER_BATCH, sample_batch)(NULL, &batch);
    COUNTER(SS_NVTX_COUNTER_BATCH, sample_batch)(NULL, NULL);
    batch.counter = id;
    COUNTER(SS_NVTX_COUNTER_BATCH, sample_batch)(NULL, &batch);
    assert_string_equal(own_recording_read(&own), "");
    uint64_t last = 1;
    counter.schema = SS_NVTX_TYPE_INT64;
    for (int i = 0; i < 3000 && last != 0; i++) {
        last = add(NULL, &counter);
    }
    assert_int_equal(last, 0);
}

static void test_scopes_get_a_number(void **state)
{
    (void)state;
    struct ss_nvtx_scope scope = {.size = sizeof scope, .path = "node/gpu"};
    register_scope *add = PAYLOAD(SS_NVTX_SCOPE_REGISTER, register_scope);
    assert_int_equal(add(NULL, NULL), 0);
    uint64_t first = add(NULL, &scope);
    assert_true(first >= SS_NVTX_FIRST_DYNAMIC && add(NULL, &scope) != first);
    scope.id = SS_NVTX_FIRST_STATIC;
    assert_int_equal(add(NULL, &scope), scope.id);
}

int main(int argc, char **argv)
{
    (void)argc;
    own_recording_folder(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numbers_of_every_type, setup, teardown),
        cmocka_unit_test_setup_teardown(test_texts_of_every_type, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fields_of_a_schema, setup, teardown),
        cmocka_unit_test_setup_teardown(test_schemas_within_schemas, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ranges_with_payloads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_payloads_of_ordinary_events, setup, teardown),
        cmocka_unit_test_setup_teardown(test_schemas_that_are_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clocks_of_the_system, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clocks_of_the_program, setup, teardown),
        cmocka_unit_test_setup_teardown(test_times_that_are_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_counters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_groups_of_counters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_counters_that_are_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_scopes_get_a_number, setup, teardown),
        /* The last: it uses up all schemas. */
        cmocka_unit_test_setup_teardown(test_schemas_have_their_number, setup, teardown),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    own_recording_remove_folder();
    return failed;
}
