/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data that a program's copy of ITT and its collector share, as far as we touch it. Every
 * program, library or plug-in that speaks ITT has such a copy of its own; each loads the library of
 * $INTEL_LIBITTNOTIFY64 and hands its global structure to __itt_api_init.
 *
 * The layouts are those of ITT's published headers from 2011 on, of 64-bit Linux. Older ones had
 * shorter entries; ss_itt_is_known tells them apart.
 */
#ifndef SS_INJECT_ITT_H
#define SS_INJECT_ITT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Handed over by value. */
struct ss_itt_id {
    unsigned long long d1, d2, d3;
};

/* Domains and strings are made by the program's copy, never freed, and have room for what their
 * collector wants to remember (`extra1`, `extra2`; zero at first). */
struct ss_itt_domain {
    volatile int flags;
    const char *name;
    void *wide_name;
    int extra1;
    void *extra2;
    struct ss_itt_domain *next;
};

struct ss_itt_string {
    const char *text;
    void *wide_text;
    int extra1;
    void *extra2;
    struct ss_itt_string *next;
};

/* A counter that was made before there was a collector. */
struct ss_itt_counter {
    const char *name;
    void *wide_name;
    const char *domain;
    void *wide_domain;
    int type;
    long index;
    int extra1;
    void *extra2;
    struct ss_itt_counter *next;
};

/* One function that the program may call; `name` NULL: the end of the list. */
struct ss_itt_function {
    const char *name;
    void **pointer;  /* what is called */
    void *initially; /* what was called first; it loads the collector */
    void *otherwise; /* for functions that the collector leaves alone; NULL: nothing is called */
    int group;
};

struct ss_itt_global {
    unsigned char magic[8];
    unsigned long version_major, version_minor, version_build;
    volatile long is_initialized, has_mutex, counter;
    pthread_mutex_t mutex;
    void *library;
    void *error_handler;
    const char **library_path;
    struct ss_itt_function *functions;
    struct ss_itt_global *next;
    void *threads;
    struct ss_itt_domain *domains;
    struct ss_itt_string *strings;
    int state;
    struct ss_itt_counter *counters; /* only where counter_create has a static part */
};

enum { SS_ITT_MOST_FUNCTIONS = 4096 };

extern const unsigned char ss_itt_magic[8];

/* A copy of ITT has us as its collector. */
bool ss_itt_is_met(void);

/* Types of metadata and of counters' values. */
enum ss_itt_type {
    SS_ITT_UNKNOWN,
    SS_ITT_U64,
    SS_ITT_S64,
    SS_ITT_U32,
    SS_ITT_S32,
    SS_ITT_U16,
    SS_ITT_S16,
    SS_ITT_FLOAT,
    SS_ITT_DOUBLE
};

#endif
