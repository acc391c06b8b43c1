/* SPDX-License-Identifier: Apache-2.0 */
#include "model/stacks/speedscope_file.h"

#include <math.h>

#include "base/strbuf.h"

enum { MOST_TEXT_BYTES = 1 << 20, MOST_PROFILES = 1 << 16 };

static const struct unit {
    const char *name;
    int scale;         /* a fixed number is the written one times 10^scale */
    double multiplier; /* the same */
} units[] = {[SS_SPEEDSCOPE_UNKNOWN] = {"", 6, 1e6},
             [SS_SPEEDSCOPE_NONE] = {"none", 6, 1e6},
             [SS_SPEEDSCOPE_BYTES] = {"bytes", 6, 1e6},
             [SS_SPEEDSCOPE_NANOSECONDS] = {"nanoseconds", 0, 1},
             [SS_SPEEDSCOPE_MICROSECONDS] = {"microseconds", 3, 1e3},
             [SS_SPEEDSCOPE_MILLISECONDS] = {"milliseconds", 6, 1e6},
             [SS_SPEEDSCOPE_SECONDS] = {"seconds", 9, 1e9}};

void ss_speedscope_file_init(struct ss_speedscope_file *file)
{
    *file = (struct ss_speedscope_file){0};
    ss_intern_init(&file->texts);
    ss_intern_init(&file->stacks);
}

void ss_speedscope_file_fini(struct ss_speedscope_file *file)
{
    for (size_t i = 0; i < file->profiles.count; i++) {
        ss_vec_fini(&file->profiles.data[i].stacks);
        ss_vec_fini(&file->profiles.data[i].weights);
        ss_vec_fini(&file->profiles.data[i].events);
    }
    ss_vec_fini(&file->profiles);
    ss_vec_fini(&file->frames);
    ss_intern_fini(&file->texts);
    ss_intern_fini(&file->stacks);
}

/* The text in a value. */
static uint32_t put_text(struct ss_speedscope_file *file, struct ss_strview value)
{
    struct ss_json_text text = ss_json_string_in(value);
    struct ss_strbuf plain;
    if (!text.has_escapes) {
        return ss_intern_put(&file->texts, text.raw.data, text.raw.length);
    }
    ss_strbuf_init(&plain, MOST_TEXT_BYTES);
    ss_json_unescape(text, &plain);
    uint32_t id = ss_intern_put(&file->texts, plain.data, plain.length);
    ss_strbuf_fini(&plain);
    return id;
}

static struct ss_json_cursor members_of(struct ss_strview object)
{
    return (struct ss_json_cursor){object.data + 1, object.data + object.length};
}

/* --- frames ----------------------------------------------------------------------------------- */

static void read_frame(struct ss_speedscope_file *file, struct ss_strview value)
{
    struct ss_speedscope_frame frame = {.line = -1};
    struct ss_json_cursor cursor = members_of(value);
    struct ss_json_text key;
    struct ss_strview member;
    int64_t line;
    while (value.data[0] == '{' && ss_json_next_member(&cursor, &key, &member)) {
        if (ss_json_is_key(key, "name")) {
            frame.name = put_text(file, member);
        } else if (ss_json_is_key(key, "file")) {
            frame.file = put_text(file, member);
        } else if (ss_json_is_key(key, "line") && ss_json_integer_in(member, &line)) {
            frame.line = line > 0 && line <= INT32_MAX ? (int32_t)line : -1;
        }
    }
    ss_vec_push(&file->frames, frame);
}

static bool read_shared(struct ss_speedscope_file *file, struct ss_json_window *window)
{
    char key[16];
    struct ss_strview value;
    if (!ss_json_window_begin_object(window)) {
        return ss_json_window_skip(window);
    }
    while (ss_json_window_key(window, key, sizeof key)) {
        if (strcmp(key, "frames") == 0 && ss_json_window_begin_array(window)) {
            file->has_frames = true;
            while (ss_json_window_element(window, &value)) {
                read_frame(file, value);
            }
        } else if (!ss_json_window_skip(window)) {
            break;
        }
    }
    return !window->is_over;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static union ss_speedscope_number number_of(const struct ss_speedscope_profile *profile,
                                            struct ss_strview value)
{
    union ss_speedscope_number number;
    if (profile->unit == SS_SPEEDSCOPE_UNKNOWN) {
        number.real = ss_json_real(value, &number.real) ? number.real : NAN;
    } else if (!ss_json_decimal(value, units[profile->unit].scale, &number.fixed)) {
        number.fixed = SS_SPEEDSCOPE_UNREADABLE;
    }
    return number;
}

/* From real to fixed. */
static void fix(union ss_speedscope_number *number, enum ss_speedscope_unit unit)
{
    static const double limit = 9e18;
    double value = number->real * units[unit].multiplier;
    number->fixed = value > -limit && value < limit ? llround(value) : SS_SPEEDSCOPE_UNREADABLE;
}

static void fix_profile(struct ss_speedscope_profile *profile)
{
    for (size_t i = 0; i < profile->weights.count; i++) {
        fix(&profile->weights.data[i], profile->unit);
    }
    for (size_t i = 0; i < profile->events.count; i++) {
        fix(&profile->events.data[i].at, profile->unit);
    }
    fix(&profile->start, profile->unit);
    fix(&profile->end, profile->unit);
    profile->is_real = false;
}

/* Numbers that came before the unit are real; once it is known, so that the following are not,
 * these become fixed, too. */
static void set_unit(struct ss_speedscope_profile *profile, struct ss_strview value)
{
    struct ss_strview name = ss_json_string_in(value).raw;
    for (size_t i = 1; i < sizeof units / sizeof *units; i++) {
        if (profile->is_real && ss_strview_equal(name, ss_strview_of(units[i].name))) {
            profile->unit = (enum ss_speedscope_unit)i;
            fix_profile(profile);
        }
    }
}

/* --- profiles --------------------------------------------------------------------------------- */

static void read_samples(struct ss_speedscope_file *file, struct ss_speedscope_profile *profile,
                         struct ss_json_window *window)
{
    struct ss_strview value;
    while (ss_json_window_element(window, &value)) {
        ss_vec_push(&profile->stacks, ss_intern_put(&file->stacks, value.data, value.length));
    }
}

static void read_weights(struct ss_speedscope_profile *profile, struct ss_json_window *window)
{
    struct ss_strview value;
    while (ss_json_window_element(window, &value)) {
        ss_vec_push(&profile->weights, number_of(profile, value));
    }
}

static void read_event(struct ss_speedscope_profile *profile, struct ss_strview value)
{
    struct ss_speedscope_event event = {.frame = UINT32_MAX};
    struct ss_json_cursor cursor = members_of(value);
    struct ss_json_text key;
    struct ss_strview member;
    int64_t frame;
    event.at = number_of(profile, (struct ss_strview){"", 0});
    while (value.data[0] == '{' && ss_json_next_member(&cursor, &key, &member)) {
        if (ss_json_is_key(key, "at")) {
            event.at = number_of(profile, member);
        } else if (ss_json_is_key(key, "type")) {
            event.is_end = ss_json_is_key(ss_json_string_in(member), "C");
        } else if (ss_json_is_key(key, "frame") && ss_json_integer_in(member, &frame)) {
            event.frame = frame >= 0 && frame < UINT32_MAX ? (uint32_t)frame : UINT32_MAX;
        }
    }
    ss_vec_push(&profile->events, event);
}

static void read_events(struct ss_speedscope_profile *profile, struct ss_json_window *window)
{
    struct ss_strview value;
    while (ss_json_window_element(window, &value)) {
        read_event(profile, value);
    }
}

static void read_member(struct ss_speedscope_file *file, struct ss_speedscope_profile *profile,
                        const char *key, struct ss_json_window *window)
{
    struct ss_strview value;
    bool is_list =
        strcmp(key, "samples") == 0 || strcmp(key, "weights") == 0 || strcmp(key, "events") == 0;
    bool is_value = strcmp(key, "name") == 0 || strcmp(key, "unit") == 0 ||
                    strcmp(key, "startValue") == 0 || strcmp(key, "endValue") == 0;
    if (is_list && ss_json_window_begin_array(window)) {
        if (key[0] == 's') {
            read_samples(file, profile, window);
        } else if (key[0] == 'w') {
            read_weights(profile, window);
        } else {
            read_events(profile, window);
        }
    } else if (!is_value) {
        ss_json_window_skip(window);
    } else if (ss_json_window_value(window, &value) == SS_JSON_OK) {
        if (key[0] == 'n') {
            profile->name = put_text(file, value);
        } else if (key[0] == 'u') {
            set_unit(profile, value);
        } else {
            *(key[0] == 's' ? &profile->start : &profile->end) = number_of(profile, value);
        }
    }
}

static void read_profile(struct ss_speedscope_file *file, struct ss_json_window *window)
{
    char key[16];
    struct ss_speedscope_profile profile = {.is_real = true,
                                            .offset = ss_import_window_offset(&window->bytes)};
    bool is_too_many = file->profiles.count >= MOST_PROFILES;
    if (is_too_many || !ss_json_window_begin_object(window)) {
        ss_import_window_count_skipped(&window->bytes, profile.offset,
                                       is_too_many ? "more than 65,536 profiles" : "no profile");
        ss_json_window_skip(window);
        return;
    }
    while (!window->is_over && ss_json_window_key(window, key, sizeof key)) {
        read_member(file, &profile, key, window);
    }
    if (profile.is_real) {
        fix_profile(&profile);
    }
    ss_vec_push(&file->profiles, profile);
}

/* --- the file --------------------------------------------------------------------------------- */

/* False: nothing more of the file is readable. */
static bool read_top_member(struct ss_speedscope_file *file, const char *key,
                            struct ss_json_window *window)
{
    struct ss_strview value;
    int64_t active;
    if (strcmp(key, "shared") == 0) {
        return read_shared(file, window);
    }
    if (strcmp(key, "profiles") == 0 && ss_json_window_begin_array(window)) {
        while (ss_json_window_has_element(window)) {
            read_profile(file, window);
        }
        return !window->is_over;
    }
    bool is_name = strcmp(key, "name") == 0, is_exporter = strcmp(key, "exporter") == 0;
    if (!is_name && !is_exporter && strcmp(key, "activeProfileIndex") != 0) {
        return ss_json_window_skip(window);
    }
    if (ss_json_window_value(window, &value) != SS_JSON_OK) {
        return false;
    }
    if (is_name || is_exporter) {
        *(is_name ? &file->name : &file->exporter) = put_text(file, value);
    } else if (ss_json_integer_in(value, &active) && active > 0 && active <= INT32_MAX) {
        file->active = (uint32_t)active;
    }
    return true;
}

void ss_speedscope_file_read(struct ss_speedscope_file *file, struct ss_json_window *window)
{
    char key[32];
    if (!ss_json_window_begin_object(window)) {
        return;
    }
    while (ss_json_window_key(window, key, sizeof key) && read_top_member(file, key, window)) {
    }
}
