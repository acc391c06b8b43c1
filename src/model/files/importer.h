/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats that a model is loaded from: one row each. The content of a file decides, never its
 * name. A row turns records of its format into rows of the model by model/builder/builder.h, or by
 * the building blocks of model.h where the format has no times.
 */
#ifndef SS_MODEL_FILES_IMPORTER_H
#define SS_MODEL_FILES_IMPORTER_H

#include "model/core/model.h"
#include "model/core/step_span.h"
#include "model/files/input_budget.h"

enum { SS_IMPORT_HEAD_BYTES = 64 * 1024 };

/* A file, or a member of an archive, whose first bytes are read already. */
struct ss_import_file {
    const char *path; /* of a member: the archive's path, ':' and the member's name */
    const char *head;
    size_t head_length;             /* SS_IMPORT_HEAD_BYTES, or less at the end of the file */
    int fd;                         /* positioned behind `head`; -1: none */
    struct ss_archive *archive;     /* of a member, positioned behind `head`; NULL: none */
    struct ss_input_budget *budget; /* of the file, or of the whole archive; NULL: no limits */
};

/* Reads what follows the head and earlier reads. `*got` 0: the end. */
enum ss_status ss_import_read(const struct ss_import_file *file, char *buffer, size_t capacity,
                              size_t *got, struct ss_error *err);

enum ss_import_match {
    SS_IMPORT_NO,
    SS_IMPORT_UNLIKELY, /* only when the user names the file and no other row claims it */
    SS_IMPORT_LIKELY,
    SS_IMPORT_CERTAIN
};

/* The begin of the events of an input, on the time axis. */
struct ss_first_time {
    uint64_t time_ns;
    int64_t shift_ns; /* of the input's clock to the axis */
    bool has_sample;  /* else it is the time of an event */
};

struct ss_importer {
    const char *name, *summary;
    enum ss_input_kind kind;
    bool needs_file; /* cannot be read out of an archive */
    /* Of memory for each byte of a file; 0: what suits text. */
    uint32_t memory_per_byte;
    /* Judges a file by its first bytes. */
    enum ss_import_match (*probe)(const char *head, size_t length);
    /* Adds the file as one input. SS_E_FORMAT: it is not of this format, or nothing in it is
     * readable. */
    enum ss_status (*load)(struct ss_model *model, const struct ss_import_file *file,
                           const struct ss_model_load *load, struct ss_error *err);
    /* Of formats with times, so that several files share a time axis; else NULL. Adds an input to
     * `model` with what it says of its clocks, places it, and stores the time of its first sample,
     * or of its first event if it has no samples. False: it has neither. */
    bool (*read_first_time)(struct ss_model *model, const char *path, struct ss_first_time *first);
    /* As ss_step_span_scan; NULL without times. */
    enum ss_status (*scan_steps)(const char *path, int64_t first, int64_t last,
                                 struct ss_step_numbers *seen, struct ss_step_span *span,
                                 bool *has_span, struct ss_error *err);
};

extern const struct ss_importer ss_importer_trace;           /* load_trace.c */
extern const struct ss_importer ss_importer_raw;             /* load_raw.c */
extern const struct ss_importer ss_importer_chrome;          /* load_chrome.c */
extern const struct ss_importer ss_importer_xspace;          /* load_xspace.c */
extern const struct ss_importer ss_importer_speedscope;      /* load_speedscope.c */
extern const struct ss_importer ss_importer_ncu;             /* load_ncu.c */
extern const struct ss_importer ss_importer_snapshot;        /* load_snapshot.c */
extern const struct ss_importer ss_importer_memory_timeline; /* load_memory_timeline.c */
extern const struct ss_importer ss_importer_nsys;            /* load_nsys.c */
extern const struct ss_importer ss_importer_perfetto;        /* load_perfetto.c */

/* All rows, ends with NULL. */
extern const struct ss_importer *const ss_importers[];

/* The row that loads the file; NULL: none, in doubt none, or it cannot be read before it is loaded,
 * as a pipe. */
const struct ss_importer *ss_importer_of_file(const char *path);

/* Whether the file is an archive, or compressed: it may have several inputs. false for a pipe,
 * which is not read. */
bool ss_import_is_archive(const char *path);

/* Loads the file with the row that its content selects. `is_named`: the user named it, not only its
 * folder. SS_E_FORMAT: no row loads it; the message names the format if it is a known one. */
enum ss_status ss_import_file(struct ss_model *model, const char *path, bool is_named,
                              const struct ss_model_load *load, struct ss_error *err);

#endif
