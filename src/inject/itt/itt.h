/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data that a program's copy of ITT shares with its collector, as far as stepscope uses it.
 * Every program, library or plug-in with ITT has its own copy; each copy loads the library of
 * $INTEL_LIBITTNOTIFY64 and passes its global structure to __itt_api_init.
 *
 * The layouts are those of ITT's published headers from 2011 on, for 64-bit Linux. Older ones have
 * shorter entries; __itt_api_init detects and ignores them.
 */
#ifndef SS_INJECT_ITT_ITT_H
#define SS_INJECT_ITT_ITT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Passed by value. */
struct ss_itt_id {
    unsigned long long d1, d2, d3;
};

/* Domains and strings are created by ITT or its collector, and never freed. `extra1` and `extra2`
 * are reserved for the collector; initially zero. */
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

/* A counter that ITT created before a collector attached. */
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

/* One function that the program may call; `name` NULL ends the list. */
struct ss_itt_function {
    const char *name;
    void **pointer;  /* what the program calls */
    void *initially; /* its initial value, which loads the collector */
    void *otherwise; /* its value for functions that the collector lacks; NULL: not called */
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

/* Whether a copy of ITT has attached to this collector. */
bool ss_itt_is_attached(void);

/* Types of metadata and of counter values. */
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
