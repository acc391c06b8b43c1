/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define IMAGE_BYTES (1 << 20)
#include "../../fakes/cpython_image.h"
#include "../../fakes/cpython_published.h"

static uint8_t memory[IMAGE_BYTES];

enum {
    DIGIT_BITS = 30,
    INLINE_VALUES = 1 << 2,
    MANAGED_DICT = 1 << 4,
    BASIC_SIZE = 64,
    DICT_OFFSET = 24,
    MAX_NAMES = 8,
};
static const uint64_t PTHREAD = UINT64_C(0x7f3512345640);

/* Where a version keeps the attributes of an object. */
enum storage {
    IN_A_DICT,       /* its own dict */
    IN_A_SPLIT_DICT, /* a dict that has values only: the keys are shared */
    IN_VALUES,       /* an array of values: the keys are in the class */
};

struct item {
    uint64_t key, value;
};

struct fixture {
    struct image image;
    struct ss_python *python;
    uint64_t active; /* threading._active */
    struct {
        uint64_t pthread;
        char text[300];
    } names[MAX_NAMES];
    size_t count;
};

/* --- objects --- */

static uint64_t make_integer(struct image *image, uint64_t value, size_t digits)
{
    const struct ss_cpython_layout *layout = image->layout;
    uint64_t object = image_alloc(image, (uint64_t)layout->long_digits + 16);
    if (layout->long_tag != SS_ABSENT) {
        image_put_word(image, object, layout->long_tag, digits << 3);
    } else {
        image_put_word(image, object, layout->var_size, digits);
    }
    for (size_t i = 0; i < digits; i++) {
        image_put(image, object, layout->long_digits + (int32_t)i * 4,
                  value >> (i * DIGIT_BITS) & ((1U << DIGIT_BITS) - 1), 4);
    }
    return object;
}

static bool has_small_entries(const struct image *image, bool is_general)
{
    return image->layout->keys_kind != SS_ABSENT && !is_general;
}

/* A table of keys with 2^log2_size slots; entries without a hash if all keys are text. */
static uint64_t make_keys_of_size(struct image *image, const struct item *items, size_t count,
                                  bool is_general, unsigned log2_size)
{
    const struct ss_cpython_layout *layout = image->layout;
    uint64_t slots = UINT64_C(1) << log2_size;
    uint64_t width = log2_size < 8 ? 1 : log2_size < 16 ? 2 : 4;
    uint64_t words = has_small_entries(image, is_general) ? 2 : 3;
    uint64_t keys =
        image_alloc(image, (uint64_t)layout->keys_indices + slots * width + count * words * 8);
    assert_true(keys != 0);
    image_put_word(image, keys, layout->keys_size, slots);
    image_put(image, keys, layout->keys_log2_index_bytes,
              log2_size + (width == 1   ? 0
                           : width == 2 ? 1
                                        : 2),
              1);
    image_put(image, keys, layout->keys_kind, words == 2, 1);
    image_put_word(image, keys, layout->keys_nentries, count);
    uint64_t entry = keys + (uint64_t)layout->keys_indices + slots * width;
    for (size_t i = 0; i < count; i++, entry += words * 8) {
        image_put_word(image, entry, words == 3 ? 0 : SS_ABSENT, 0x1234 /* a hash */);
        image_put_word(image, entry, (int32_t)words * 8 - 16, items[i].key);
        image_put_word(image, entry, (int32_t)words * 8 - 8, items[i].value);
    }
    return keys;
}

static uint64_t make_keys(struct image *image, const struct item *items, size_t count,
                          bool is_general)
{
    return make_keys_of_size(image, items, count, is_general, 3);
}

static uint64_t make_dict(struct image *image, uint64_t keys, uint64_t values)
{
    uint64_t dict = image_alloc(image, 64);
    image_put_word(image, dict, image->layout->dict_keys, keys);
    image_put_word(image, dict, image->layout->dict_values, values);
    return dict;
}

/* A dict of two texts; the one that is searched is the second. */
static uint64_t make_named(struct image *image, const char *key, uint64_t value)
{
    const struct item items[] = {{image_text(image, "another"), 8},
                                 {image_text(image, key), value}};
    return make_dict(image, make_keys(image, items, 2, false), 0);
}

/* An array of two values for make_named's keys. */
static uint64_t fill_values(struct image *image, uint64_t values, uint64_t value)
{
    image_put_word(image, values, image->layout->values_data, 8);
    image_put_word(image, values, image->layout->values_data + 8, value);
    return values;
}

static uint64_t make_type(struct image *image, uint64_t flags, uint64_t keys)
{
    const struct ss_cpython_layout *layout = image->layout;
    uint64_t type = image_alloc(image, 1024);
    bool is_managed = (flags & MANAGED_DICT) != 0;
    image_put_word(image, type, layout->type_flags, flags);
    image_put_word(image, type, layout->type_basicsize, BASIC_SIZE);
    image_put_word(image, type, layout->type_dictoffset, is_managed ? UINT64_MAX : DICT_OFFSET);
    image_put_word(image, type, layout->type_cached_keys, keys);
    return type;
}

/* A Thread whose attribute `key` is `value`. */
static uint64_t make_thread(struct image *image, enum storage storage, const char *key,
                            uint64_t value)
{
    const struct ss_cpython_layout *layout = image->layout;
    const struct item items[] = {{image_text(image, "another"), 0}, {image_text(image, key), 0}};
    uint64_t keys = make_keys(image, items, 2, false);
    bool is_managed = layout->managed_dict != SS_ABSENT;
    bool is_inline = storage == IN_VALUES && is_managed && layout->managed_values == SS_ABSENT &&
                     layout->managed_is_tagged != 1;
    uint64_t object = image_alloc(image, 256) + 64; /* what is managed lies before it */
    uint64_t flags = (is_managed ? MANAGED_DICT : 0) | (is_inline ? INLINE_VALUES : 0);
    image_put_word(image, object, layout->object_type, make_type(image, flags, keys));
    uint64_t values = is_inline ? object + BASIC_SIZE : image_alloc(image, 128);
    fill_values(image, values, value);
    uint64_t dict = storage == IN_A_DICT         ? make_named(image, key, value)
                    : storage == IN_A_SPLIT_DICT ? make_dict(image, keys, values)
                                                 : 0;
    if (storage == IN_VALUES && layout->managed_is_tagged == 1) {
        dict = values - 1;
    } else if (storage == IN_VALUES) {
        image_put_word(image, object, layout->managed_values, values);
    }
    image_put_word(image, object, is_managed ? layout->managed_dict : DICT_OFFSET, dict);
    return object;
}

/* --- the process --- */

static void begin(struct fixture *fixture, uint16_t version)
{
    memset(fixture, 0, sizeof *fixture);
    struct image *image = &fixture->image;
    image_build(image, ss_cpython_layout_get(version, false, false), memory);
    image_publish(image);
    for (int i = 0; i < 3; i++) {
        image_push(image, image_code(image, "f", 1), 5);
    }
    struct ss_python_location location = image_location(image);
    struct ss_error err = {0};
    if (ss_python_open(&image->reader, &location, NULL, &fixture->python, &err) != SS_OK) {
        fail_msg("%x: %s", version, err.message);
    }
}

/* sys.modules["threading"]._active is a dict with these entries. */
static void set_active(struct fixture *fixture, uint64_t keys)
{
    struct image *image = &fixture->image;
    fixture->active = make_dict(image, keys, 0);
    uint64_t module = image_alloc(image, 64);
    image_put_word(image, module, image->layout->module_dict,
                   make_named(image, "_active", fixture->active));
    image_put_word(image, image->interpreter, image->layout->interp_modules,
                   make_named(image, "threading", module));
}

static void on_name(void *context, uint64_t pthread, struct ss_strview text)
{
    struct fixture *fixture = context;
    assert_true(fixture->count < MAX_NAMES);
    fixture->names[fixture->count].pthread = pthread;
    snprintf(fixture->names[fixture->count].text, sizeof fixture->names[0].text, "%.*s",
             (int)text.length, text.data);
    fixture->count++;
}

static void read_names(struct fixture *fixture)
{
    fixture->count = 0;
    ss_python_thread_names(fixture->python, on_name, fixture);
}

static void assert_names(struct fixture *fixture, size_t count)
{
    read_names(fixture);
    assert_int_equal(fixture->count, count);
}

static void end(struct fixture *fixture)
{
    ss_python_close(fixture->python);
}

static const uint16_t versions[] = {0x0308, 0x0309, 0x030a, 0x030b, 0x030c, 0x030d};
enum { VERSIONS = sizeof versions / sizeof versions[0] };

static bool has_values(uint16_t version)
{
    return version >= 0x030b; /* before, every object has a dict */
}

static void each_version_names_its_threads(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        for (enum storage storage = IN_A_DICT; storage <= IN_VALUES; storage++) {
            if (storage == IN_VALUES && !has_values(versions[v])) {
                continue;
            }
            struct fixture fixture;
            begin(&fixture, versions[v]);
            struct image *image = &fixture.image;
            const struct item items[] = {
                {make_integer(image, PTHREAD, 2),
                 make_thread(image, storage, "_name", image_text(image, "MainThread"))},
                {make_integer(image, PTHREAD + 64, 2),
                 make_thread(image, storage, "_name", image_text(image, "loader"))}};
            set_active(&fixture, make_keys(image, items, 2, true));
            assert_names(&fixture, 2);
            assert_int_equal(fixture.names[0].pthread, PTHREAD);
            assert_string_equal(fixture.names[0].text, "MainThread");
            assert_int_equal(fixture.names[1].pthread, PTHREAD + 64);
            assert_string_equal(fixture.names[1].text, "loader");
            end(&fixture);
        }
    }
}

static void what_is_no_thread_has_no_name(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        uint64_t thread = make_thread(image, IN_A_DICT, "_name", image_text(image, "name"));
        uint64_t ident = make_integer(image, PTHREAD, 2);
        const struct item items[] = {
            {0, thread}, /* a removed entry */
            {ident, 0},
            {make_integer(image, 0, 0), thread},       /* the number 0 */
            {make_integer(image, PTHREAD, 4), thread}, /* longer than 64 bits */
            {ident, make_thread(image, IN_A_DICT, "_nome", image_text(image, "no"))},
            {ident, make_thread(image, IN_A_DICT, "_name", 0)},
            {ident, make_thread(image, IN_A_SPLIT_DICT, "_name", 0)},
            {make_integer(image, UINT64_C(7) << 60 | 5, 3), thread},
        };
        set_active(&fixture, make_keys(image, items, sizeof items / sizeof items[0], true));
        assert_names(&fixture, 1);
        assert_true(fixture.names[0].pthread == (UINT64_C(7) << 60 | 5));
        end(&fixture);
    }
}

static void an_object_without_attributes_has_no_name(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        const struct ss_cpython_layout *layout = image->layout;
        uint64_t thread = make_thread(image, IN_A_DICT, "_name", image_text(image, "name"));
        uint64_t type = image_word(image, thread, layout->object_type);
        const struct item item = {make_integer(image, PTHREAD, 2), thread};
        set_active(&fixture, make_keys(image, &item, 1, true));
        assert_names(&fixture, 1);
        if (layout->managed_dict != SS_ABSENT) {
            image_put_word(image, thread, layout->managed_dict, 0);
        } else {
            image_put_word(image, type, layout->type_dictoffset, 0);
            assert_names(&fixture, 0);
            image_put_word(image, type, layout->type_dictoffset, 4096); /* not sane */
        }
        assert_names(&fixture, 0);
        end(&fixture);
    }
}

/* From 3.11 the class says whether the interpreter manages the dict; if not, the class says where
 * it is. */
static void a_dict_that_is_not_managed_is_where_the_class_says(void **state)
{
    (void)state;
    for (int v = 3; v < VERSIONS; v++) {
        struct fixture fixture;
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        uint64_t thread = image_alloc(image, 64);
        image_put_word(image, thread, image->layout->object_type, make_type(image, 0, 0));
        image_put_word(image, thread, DICT_OFFSET,
                       make_named(image, "_name", image_text(image, "own")));
        const struct item item = {make_integer(image, PTHREAD, 2), thread};
        set_active(&fixture, make_keys(image, &item, 1, true));
        assert_names(&fixture, 1);
        assert_string_equal(fixture.names[0].text, "own");
        end(&fixture);
    }
}

/* The slots before the entries have as many bytes as their numbers need. */
static void tables_of_every_size_are_read(void **state)
{
    (void)state;
    static const unsigned sizes[] = {3, 7, 8, 15, 16};
    for (int v = 0; v < VERSIONS; v++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct fixture fixture;
            begin(&fixture, versions[v]);
            struct image *image = &fixture.image;
            const struct item item = {
                make_integer(image, PTHREAD, 2),
                make_thread(image, IN_A_DICT, "_name", image_text(image, "name"))};
            set_active(&fixture, make_keys_of_size(image, &item, 1, true, sizes[i]));
            assert_names(&fixture, 1);
            end(&fixture);
        }
    }
}

static void tables_that_cannot_be_are_skipped(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        const struct ss_cpython_layout *layout = image->layout;
        const struct item item = {
            make_integer(image, PTHREAD, 2),
            make_thread(image, IN_A_DICT, "_name", image_text(image, "name"))};
        uint64_t keys = make_keys(image, &item, 1, true);
        set_active(&fixture, keys);
        image_put_word(image, keys, layout->keys_nentries, 65537);
        assert_names(&fixture, 0);
        image_put_word(image, keys, layout->keys_nentries, 1);
        assert_names(&fixture, 1);
        image_put_word(image, keys, layout->keys_size, (1 << 20) + 1);
        image_put(image, keys, layout->keys_log2_index_bytes, 24, 1);
        assert_names(&fixture, 0);
        image_put_word(image, fixture.active, layout->dict_keys, 0);
        assert_names(&fixture, 0);
        image_put_word(image, image->interpreter, layout->interp_modules, 0);
        assert_names(&fixture, 0);
        end(&fixture);
    }
}

/* 65,536 entries are read, though the memory that holds them ends before. */
static void the_largest_table_is_read_as_far_as_it_reaches(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    const struct item item = {make_integer(image, PTHREAD, 2),
                              make_thread(image, IN_A_DICT, "_name", image_text(image, "name"))};
    uint64_t keys = make_keys(image, &item, 1, true);
    set_active(&fixture, keys);
    image_put_word(image, keys, image->layout->keys_nentries, 65536);
    assert_names(&fixture, 1);
    end(&fixture);
}

static void a_long_name_is_cut(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    char text[300];
    memset(text, 'n', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    const struct item item = {make_integer(image, PTHREAD, 2),
                              make_thread(image, IN_VALUES, "_name", image_text(image, text))};
    set_active(&fixture, make_keys(image, &item, 1, true));
    assert_names(&fixture, 1);
    assert_int_equal(strlen(fixture.names[0].text), 256);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_names_its_threads),
        cmocka_unit_test(what_is_no_thread_has_no_name),
        cmocka_unit_test(an_object_without_attributes_has_no_name),
        cmocka_unit_test(a_dict_that_is_not_managed_is_where_the_class_says),
        cmocka_unit_test(tables_of_every_size_are_read),
        cmocka_unit_test(tables_that_cannot_be_are_skipped),
        cmocka_unit_test(the_largest_table_is_read_as_far_as_it_reaches),
        cmocka_unit_test(a_long_name_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
