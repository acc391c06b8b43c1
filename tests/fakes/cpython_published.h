/* SPDX-License-Identifier: Apache-2.0 */
/* What interpreters publish of their layout from 3.13 on, as 3.13.0, 3.14.10 and 3.15.2 do, and the
 * free-threaded 3.13.15, 3.14.7 and 3.15.0rc2: only the words that walks use. */
#ifndef SS_TESTS_CPYTHON_PUBLISHED_H
#define SS_TESTS_CPYTHON_PUBLISHED_H

#include <stdbool.h>
#include <string.h>

#include "unwind/cpython_layout.h"

enum {
    PUBLISHED_WORDS = SS_DEBUG_OFFSETS_BYTES / 8,
    PUBLISHED_3_13_0 = 0x030d00f0,
    PUBLISHED_3_14_10 = 0x30e0af0,
    PUBLISHED_3_15_2 = 0x30f02f0
};

static inline void published_begin(uint64_t words[PUBLISHED_WORDS], uint32_t version_hex)
{
    memset(words, 0, PUBLISHED_WORDS * sizeof *words);
    memcpy(words, "xdebugpy", 8);
    words[1] = version_hex;
}

static const struct published_word {
    int word, value;
} published_3_13[] = {{3, 283320}, {5, 632},  {6, 194968}, {7, 7272}, {8, 7264}, {9, 7344},
                      {11, 7656},  {14, 16},  {19, 304},   {21, 8},   {22, 16},  {23, 72},
                      {24, 152},   {25, 160}, {26, 232},   {28, 80},  {29, 8},   {30, 0},
                      {31, 56},    {32, 72},  {33, 70},    {34, 208}, {35, 112}, {36, 120},
                      {37, 128},   {38, 136}, {39, 68},    {43, 200}, {45, 8},   {47, 24},
                      {49, 168},   {57, 32},  {58, 40},    {62, 16},  {63, 24},  {65, 16},
                      {66, 32},    {68, 32},  {69, 16},    {70, 40}},
  published_3_14[] = {{3, 316616}, {5, 808},  {6, 225864}, {7, 7280}, {8, 7272}, {9, 7344},
                      {12, 7688},  {15, 16},  {22, 832},   {24, 8},   {25, 16},  {26, 72},
                      {27, 152},   {28, 160}, {29, 232},   {32, 8},   {34, 56},  {35, 80},
                      {36, 74},    {37, 64},  {39, 216},   {40, 112}, {41, 120}, {42, 128},
                      {43, 136},   {44, 68},  {48, 208},   {51, 8},   {53, 24},  {55, 168},
                      {67, 32},    {68, 40},  {72, 16},    {73, 24},  {75, 16},  {76, 32},
                      {78, 32},    {79, 16},  {80, 40}},
  published_3_15[] = {
      {3, 346568}, {5, 936}, {6, 226240}, {7, 7272}, {8, 7264}, {9, 7336}, {12, 7592}, {15, 16},
      {22, 888},   {24, 8},  {25, 16},    {26, 72},  {30, 176}, {31, 184}, {32, 256},  {40, 8},
      {42, 56},    {43, 80}, {44, 74},    {45, 64},  {47, 216}, {48, 112}, {49, 120},  {50, 128},
      {51, 136},   {52, 68}, {56, 208},   {59, 8},   {61, 24},  {63, 168}, {79, 32},   {80, 40},
      {84, 16},    {85, 24}, {87, 16},    {88, 32},  {90, 32},  {91, 16},  {92, 40}};

/* The same of free-threaded builds. */
static const struct published_word
    free_3_13[] = {{3, 328384}, {5, 632},  {6, 215616}, {7, 7272}, {8, 7264}, {9, 7344}, {11, 7664},
                   {14, 16},    {19, 312}, {21, 8},     {22, 16},  {23, 72},  {24, 152}, {25, 160},
                   {26, 232},   {28, 80},  {29, 8},     {30, 0},   {31, 56},  {32, 72},  {33, 70},
                   {34, 224},   {35, 128}, {36, 136},   {37, 144}, {38, 152}, {39, 84},  {43, 216},
                   {45, 24},    {47, 40},  {49, 184},   {57, 48},  {58, 56},  {62, 32},  {63, 40},
                   {65, 32},    {66, 48},  {68, 48},    {69, 32},  {70, 56}},
    free_3_14[] = {{3, 362368}, {5, 808},  {6, 246720}, {7, 7280}, {8, 7272}, {9, 7344}, {12, 7712},
                   {15, 16},    {22, 832}, {24, 8},     {25, 16},  {26, 72},  {27, 152}, {28, 160},
                   {29, 232},   {32, 8},   {34, 56},    {35, 80},  {36, 78},  {37, 64},  {39, 240},
                   {40, 128},   {41, 136}, {42, 144},   {43, 152}, {44, 84},  {48, 232}, {51, 24},
                   {53, 40},    {55, 184}, {67, 48},    {68, 56},  {72, 32},  {73, 40},  {75, 32},
                   {76, 48},    {78, 48},  {79, 32},    {80, 56}},
    free_3_15[] = {{3, 406016}, {5, 936},  {6, 247104}, {7, 7272}, {8, 7264}, {9, 7336}, {12, 7592},
                   {15, 16},    {22, 888}, {24, 8},     {25, 16},  {26, 72},  {30, 176}, {31, 184},
                   {32, 256},   {40, 8},   {42, 56},    {43, 80},  {44, 78},  {45, 64},  {47, 240},
                   {48, 128},   {49, 136}, {50, 144},   {51, 152}, {52, 84},  {56, 232}, {59, 24},
                   {61, 40},    {63, 184}, {79, 48},    {80, 56},  {84, 32},  {85, 40},  {87, 32},
                   {88, 48},    {90, 48},  {91, 32},    {92, 56}};

static inline void published_put(uint64_t words[PUBLISHED_WORDS], uint32_t version_hex,
                                 const struct published_word *known, size_t count)
{
    published_begin(words, version_hex);
    for (size_t i = 0; i < count; i++) {
        words[known[i].word] = (uint64_t)known[i].value;
    }
}

static inline void published_fill_3_13(uint64_t words[PUBLISHED_WORDS])
{
    published_put(words, PUBLISHED_3_13_0, published_3_13,
                  sizeof published_3_13 / sizeof *published_3_13);
}

#define PUBLISHED(version_hex, known) version_hex, known, sizeof(known) / sizeof *(known)

/* `version`: 0x030d to 0x030f. */
static inline void published_fill(uint64_t words[PUBLISHED_WORDS], uint16_t version,
                                  bool is_free_threaded)
{
    if (version == 0x030e && is_free_threaded) {
        published_put(words, PUBLISHED(PUBLISHED_3_14_10, free_3_14));
    } else if (version == 0x030f && is_free_threaded) {
        published_put(words, PUBLISHED(PUBLISHED_3_15_2, free_3_15));
    } else if (is_free_threaded) {
        published_put(words, PUBLISHED(PUBLISHED_3_13_0, free_3_13));
    } else if (version == 0x030e) {
        published_put(words, PUBLISHED(PUBLISHED_3_14_10, published_3_14));
    } else if (version == 0x030f) {
        published_put(words, PUBLISHED(PUBLISHED_3_15_2, published_3_15));
    } else {
        published_fill_3_13(words);
    }
    words[2] = is_free_threaded;
}

#endif
