/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in a file of Nsight Systems: numbers of the table StringIds. Only those that events refer
 * to are read, because the table also has the content of files; a small cache serves the few names
 * that most events have. Owned by one loader. Private to model/.
 */
#ifndef SS_MODEL_NSYS_NSYS_NAMES_H
#define SS_MODEL_NSYS_NSYS_NAMES_H

#include "model/files/sqlite_file.h"
#include "model/nsys/nsys_rows.h"

enum ss_nsys_name_kind {
    SS_NSYS_KERNEL_NAME,
    SS_NSYS_CALL_NAME,    /* of CUDA's runtime and driver; without the version of the function */
    SS_NSYS_LIBRARY_NAME, /* any other function */
    SS_NSYS_COLLECTIVE_NAME,
    SS_NSYS_NAME_KINDS
};

struct ss_nsys_cached_name {
    int64_t number;
    uint32_t key; /* the kind, or what else distinguishes names of one text; 0: free */
    uint32_t row; /* of the model */
};

struct ss_nsys_names {
    struct ss_nsys_rows *rows;
    struct ss_sqlite_texts *strings;
    struct ss_nsys_cached_name *cache;
};

void ss_nsys_names_init(struct ss_nsys_names *names, struct ss_sqlite_file *file,
                        struct ss_nsys_rows *rows);
void ss_nsys_names_fini(struct ss_nsys_names *names);

/* The name's row in the model; 0: the number has no text. */
uint32_t ss_nsys_name(struct ss_nsys_names *names, enum ss_nsys_name_kind kind, int64_t number);
/* The text; empty: it has none. Valid until the next call of any function here. */
struct ss_strview ss_nsys_string(struct ss_nsys_names *names, int64_t number);

/* A row that the caller made of a number; 0: it is not in the cache. `key` from
 * SS_NSYS_NAME_KINDS + 1 on is the caller's. */
uint32_t ss_nsys_names_cached(const struct ss_nsys_names *names, int64_t number, uint32_t key);
void ss_nsys_names_cache(struct ss_nsys_names *names, int64_t number, uint32_t key, uint32_t row);

/* "cudaLaunchKernel" of "cudaLaunchKernel_v7000". */
struct ss_strview ss_nsys_without_version(struct ss_strview call);

#endif
