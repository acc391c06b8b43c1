/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a frame: py-spy's `name (file:line)` with its options, made safe to print; and the
 * package of a frame. Pure functions of the model.
 */
#ifndef SS_VIEW_OUTPUT_FRAME_TEXT_H
#define SS_VIEW_OUTPUT_FRAME_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/strview.h"
#include "model/core/model.h"

/* Zero is py-spy's default: one frame per line of code, short file names. */
struct ss_frame_style {
    bool by_function;    /* -F: the function's first line instead of the line */
    bool no_lines;       /* --nolineno */
    bool full_filenames; /* --full-filenames */
};

/* The file and line that the style shows; line 0 when it shows none. */
struct ss_strview ss_frame_file(const struct ss_model *model, const struct ss_model_frame *frame,
                                const struct ss_frame_style *style);
int32_t ss_frame_line(const struct ss_model_frame *frame, const struct ss_frame_style *style);

/* Appends valid UTF-8 without control characters, bidirectional ones included (each becomes U+FFFD
 * or `\xNN`); every character of `also` becomes ':'. In texts longer than `maximum_bytes`, "…"
 * replaces the middle. */
void ss_frame_append_clean(struct ss_strbuf *out, struct ss_strview text, const char *also,
                           size_t maximum_bytes);

/* Appends a frame as one element of a folded line, without ';'. */
void ss_frame_append_folded(struct ss_strbuf *out, const struct ss_model *model,
                            const struct ss_model_frame *frame, const struct ss_frame_style *style);
/* py-spy's root labels: `process 12:"python train.py"` and `thread (34): name`. */
void ss_process_append_folded(struct ss_strbuf *out, const struct ss_model *model,
                              uint32_t process);
void ss_thread_append_folded(struct ss_strbuf *out, const struct ss_model *model, uint32_t thread);

/* "torch", "numpy", the library of a native frame, the top folder or file of the user's code;
 * "Python" for the standard library; "kernels", "communication" or "copies" for what runs on a
 * device. */
struct ss_strview ss_frame_package(const struct ss_model *model,
                                   const struct ss_model_frame *frame);

#endif
