/* SPDX-License-Identifier: Apache-2.0 */
#include "view/flame/flame_color.h"

#include <math.h>
#include <stdio.h>

const char *const ss_flame_scheme_names[] = {"module", "origin", "function", "warm", NULL};

enum palette {
    USER,
    PACKAGE,
    STDLIB,
    NATIVE,
    DEVICE,
    FUNCTION,
    WARM,
    GROUP,
    FOLDED,
    WAITING,
    GREW,
    SHRANK,
    PALETTES
};

/* Lightness and chroma in OKLCH: equal numbers are perceived as equally bright in every hue. The
 * variants differ in lightness, so that adjacent functions of a package are distinguishable. */
struct palette_row {
    char letter;
    int hues;
    double first_hue, hue_step;
    int variants;
    double light_l, light_c, dark_l, dark_c;
    double variant_l, variant_c; /* added per variant; dark: variant_l is subtracted */
};

static const struct palette_row palettes[PALETTES] = {
    [USER] = {'u', 3, 62, 13, 3, 0.86, 0.125, 0.50, 0.098, -0.032, 0.004},
    [PACKAGE] = {'p', 22, 135, 10, 3, 0.835, 0.078, 0.45, 0.080, -0.03, 0.003},
    [STDLIB] = {'s', 1, 255, 0, 3, 0.865, 0.018, 0.42, 0.020, -0.028, 0.002},
    [NATIVE] = {'n', 2, 22, 14, 3, 0.84, 0.062, 0.44, 0.058, -0.03, 0.003},
    [DEVICE] = {'k', 3, 265, -65, 3, 0.80, 0.115, 0.48, 0.11, -0.03, 0.003},
    [FUNCTION] = {'h', 36, 0, 10, 3, 0.84, 0.085, 0.46, 0.085, -0.03, 0.003},
    [WARM] = {'r', 8, 28, 9, 3, 0.83, 0.125, 0.50, 0.105, -0.03, 0.004},
    [GROUP] = {'g', 1, 265, 0, 3, 0.90, 0.012, 0.38, 0.016, -0.03, 0.004},
    [FOLDED] = {'f', 1, 265, 0, 1, 0.925, 0.004, 0.345, 0.006, 0, 0},
    [WAITING] = {'w', 1, 265, 0, 1, 0.93, 0.006, 0.315, 0.010, 0, 0},
    [GREW] = {'i', 1, 25, 0, 6, 0.93, 0, 0.32, 0, -0.052, 0.034},
    [SHRANK] = {'d', 1, 255, 0, 6, 0.93, 0, 0.32, 0, -0.052, 0.030},
};

static ss_flame_class class_at(enum palette palette, int hue, int variant)
{
    int first = 0;
    for (int i = 0; i < (int)palette; i++) {
        first += palettes[i].hues * palettes[i].variants;
    }
    return (ss_flame_class)(first + hue * palettes[palette].variants + variant);
}

static uint32_t hash_of(const struct ss_flame_tree *tree, uint32_t string)
{
    struct ss_strview text = ss_intern_get(&tree->strings, string);
    return (uint32_t)(ss_hash_u64(ss_hash_bytes(text.data, text.length)) >> 16);
}

static ss_flame_class hashed(enum palette palette, uint32_t hue_hash, uint32_t shade_hash)
{
    const struct palette_row *row = &palettes[palette];
    return class_at(palette, (int)(hue_hash % (uint32_t)row->hues),
                    (int)(shade_hash % (uint32_t)row->variants));
}

static enum palette palette_of_origin(enum ss_code_origin origin)
{
    switch (origin) {
    case SS_ORIGIN_STDLIB:
        return STDLIB;
    case SS_ORIGIN_PACKAGE:
        return PACKAGE;
    case SS_ORIGIN_NATIVE:
        return NATIVE;
    case SS_ORIGIN_DEVICE:
        return DEVICE;
    default:
        return USER;
    }
}

ss_flame_class ss_flame_class_of(const struct ss_flame_tree *tree,
                                 const struct ss_flame_label *label, enum ss_flame_scheme scheme)
{
    if (label->kind == SS_FLAME_RANGE) {
        uint32_t name = hash_of(tree, label->name);
        return hashed(FUNCTION, name, name >> 8);
    }
    if (label->kind != SS_FLAME_FRAME) {
        return class_at(GROUP, 0, label->kind == SS_FLAME_ALL ? 0 : (int)label->kind - 1);
    }
    uint32_t function = hash_of(tree, label->name);
    if (label->origin == SS_ORIGIN_DEVICE && scheme != SS_FLAME_BY_FUNCTION) {
        const char *kind = ss_intern_text(&tree->strings, label->package);
        int hue = kind[0] == 'k' ? 0 : kind[2] == 'm' ? 1 : 2; /* kernels, communication, copies */
        return class_at(DEVICE, hue, (int)(function % 3));
    }
    switch (scheme) {
    case SS_FLAME_BY_ORIGIN:
        return class_at(palette_of_origin(label->origin), 0, 0);
    case SS_FLAME_BY_FUNCTION:
        return hashed(FUNCTION, function, function >> 8);
    case SS_FLAME_WARM:
        return hashed(WARM, function, function >> 8);
    default:
        return hashed(palette_of_origin(label->origin), hash_of(tree, label->package), function);
    }
}

ss_flame_class ss_flame_class_waiting(void)
{
    return class_at(WAITING, 0, 0);
}

ss_flame_class ss_flame_class_folded(void)
{
    return class_at(FOLDED, 0, 0);
}

ss_flame_class ss_flame_class_diff(int step)
{
    return step >= 0 ? class_at(GREW, 0, step) : class_at(SHRANK, 0, -step);
}

static int to_srgb(double linear)
{
    double value = linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;
    value = value < 0 ? 0 : value > 1 ? 1 : value;
    return (int)lround(value * 255);
}

/* Björn Ottosson's OKLab (https://bottosson.github.io/posts/oklab/), public domain. */
static void oklch_to_hex(double lightness, double chroma, double hue_degrees, char hex[8])
{
    double hue = hue_degrees * 3.14159265358979323846 / 180;
    double a = chroma * cos(hue), b = chroma * sin(hue);
    double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    snprintf(hex, 8, "#%02x%02x%02x",
             to_srgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) & 0xff,
             to_srgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) & 0xff,
             to_srgb(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s) & 0xff);
}

void ss_flame_paint_of(ss_flame_class class, struct ss_flame_paint *paint)
{
    int offset = class;
    int palette = 0;
    while (palette < PALETTES - 1 &&
           offset >= palettes[palette].hues * palettes[palette].variants) {
        offset -= palettes[palette].hues * palettes[palette].variants;
        palette++;
    }
    const struct palette_row *row = &palettes[palette];
    int hue_index = offset / row->variants, variant = offset % row->variants;
    double hue = row->first_hue + hue_index * row->hue_step;
    double chroma = variant * row->variant_c;
    snprintf(paint->name, sizeof paint->name, "%c%d", row->letter, offset & 0xff);
    oklch_to_hex(row->light_l + variant * row->variant_l, row->light_c + chroma, hue, paint->light);
    oklch_to_hex(row->dark_l - variant * row->variant_l, row->dark_c + chroma, hue, paint->dark);
}
