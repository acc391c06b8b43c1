/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layouts of CPython structures as data: one table per minor version and build flavour. Up to
 * 3.12 only the tables are used. From 3.13 the offsets that the interpreter publishes
 * (`_Py_DebugOffsets` at the start of `_PyRuntime`) override those of the newest table that is not
 * newer than the interpreter. Immutable.
 */
#ifndef SS_UNWIND_CPYTHON_LAYOUT_H
#define SS_UNWIND_CPYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { SS_ABSENT = INT32_MIN };

/* Upper limits of every layout, whether from a table or from the target. */
enum { SS_TSTATE_MAX_BYTES = 4096, SS_CODE_MAX_BYTES = 512, SS_FRAME_MAX_BYTES = 128 };

struct ss_cpython_layout {
    uint16_t version; /* 0x030b: major and minor */
    bool is_debug;
    bool is_free_threaded;
    /* NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define SS_FIELD(name) int32_t name;
#include "unwind/cpython_fields.def"
#undef SS_FIELD
};

/* Iterates the tables in the order to try when only the version is known; NULL after the last.
 * version 0: all. */
const struct ss_cpython_layout *ss_cpython_layout_next(const struct ss_cpython_layout *previous,
                                                       uint16_t version);
/* The exact table, else NULL. */
const struct ss_cpython_layout *ss_cpython_layout_get(uint16_t version, bool is_debug,
                                                      bool is_free_threaded);

/* `_Py_DebugOffsets`, as published from 3.13. */
enum { SS_DEBUG_OFFSETS_BYTES = 1024 };
bool ss_debug_offsets_present(const void *bytes, size_t length);
/* Builds a layout from the published bytes. SS_E_UNSUPPORTED: their shape is unknown or the values
 * are not sane. *version_hex is PY_VERSION_HEX. */
enum ss_status ss_debug_offsets_parse(const void *bytes, size_t length,
                                      struct ss_cpython_layout *layout, uint32_t *version_hex,
                                      struct ss_error *err);

#endif
