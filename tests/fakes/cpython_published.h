/* SPDX-License-Identifier: Apache-2.0 */
/* What an interpreter publishes of its layout from 3.13, as 3.13.0 does: only the words that walks
 * use. */
#ifndef SS_TESTS_CPYTHON_PUBLISHED_H
#define SS_TESTS_CPYTHON_PUBLISHED_H

#include <string.h>

#include "unwind/cpython_layout.h"

enum { PUBLISHED_WORDS = SS_DEBUG_OFFSETS_BYTES / 8, PUBLISHED_3_13_0 = 0x030d00f0 };

static inline void published_begin(uint64_t words[PUBLISHED_WORDS], uint32_t version_hex)
{
    memset(words, 0, PUBLISHED_WORDS * sizeof *words);
    memcpy(words, "xdebugpy", 8);
    words[1] = version_hex;
}

static inline void published_fill_3_13(uint64_t words[PUBLISHED_WORDS])
{
    static const struct {
        int word, value;
    } known[] = {{3, 283320}, {5, 632},  {6, 194968}, {7, 7272}, {8, 7264}, {9, 7344}, {11, 7656},
                 {14, 16},    {19, 304}, {21, 8},     {22, 16},  {23, 72},  {24, 152}, {25, 160},
                 {26, 232},   {28, 80},  {29, 8},     {30, 0},   {31, 56},  {32, 72},  {33, 70},
                 {34, 208},   {35, 112}, {36, 120},   {37, 128}, {38, 136}, {39, 68},  {43, 200},
                 {45, 8},     {47, 24},  {49, 168},   {57, 32},  {58, 40},  {62, 16},  {63, 24},
                 {65, 16},    {66, 32},  {68, 32},    {69, 16},  {70, 40}};
    published_begin(words, PUBLISHED_3_13_0);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        words[known[i].word] = (uint64_t)known[i].value;
    }
}

#endif
