/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the ring file of a process. Private to the implementation of process.h: process.c
 * (identity, lock, life), process_file.c (how the file is created), process_rings.c (its content).
 */
#ifndef SS_ANNOT_PROCESS_INSIDE_H
#define SS_ANNOT_PROCESS_INSIDE_H

#include "annot/process.h"

/* Wiped on fork: zeros mean that the state is not of this process. */
struct ss_process_state {
    atomic_uint lock;    /* 0 free, 1 held, 2 held with waiters */
    _Atomic int32_t pid; /* cached; 0: unknown */
    bool is_ours;
    bool has_file;
    dev_t device;
    ino_t inode;
    uint64_t file_end;
    uint32_t definition_room, definition_bytes;
    _Atomic uint64_t ids;
    uint64_t salt;
    char path[SS_RING_PATH_BYTES];
    char *directory;          /* the file up to the segments */
    uint32_t wide_slots_log2; /* of new rings, if there is room; 0: the default */
    uint32_t ring_count;
    struct ss_ring_thread *rings[SS_RING_MAX_THREADS];
    uint8_t ring_slots_log2[SS_RING_MAX_THREADS];
};
extern struct ss_process_state *ss_process_state;

/* State that a forked child inherits. */
extern struct ss_process_inherited {
    char folder[SS_RING_PATH_BYTES - 64]; /* of ring files; "": no safe folder */
    struct ss_ring_roots roots;           /* from the environment at startup */
    uint32_t filters;                     /* number of seccomp filters at startup */
    uid_t uid;                            /* owner of the files, at startup */
    pid_t pid;                            /* of the process that `generation` describes */
    uint32_t generation;
    bool is_recorder_folder;
    bool is_duplicate; /* another copy of this library records this process */
} ss_process_inherited;

/* --- process_file.c -------------------------------------------------------------------------- */

/* Number of seccomp filters of this process; before Linux 5.9, 2 for one or more. */
uint32_t ss_process_count_filters(void);
/* The recorder reports a seccomp filter set after startup: then even these calls are avoided. */
bool ss_process_is_confined(void);
/* At startup: where the ring files are. */
void ss_process_choose_folder(void);
/* Creates and maps the file; without one, closes the gate. */
void ss_process_make_file(void);
/* ss_process_prepare, for a process whose state is its own. */
int ss_process_make_file_again(void);
/* Opens the ring file by name each time: a program may close descriptors that it did not open. When
 * a recorder was killed, the next recorder moves the file to the user's folder. */
int ss_process_reopen_file(void);
/* Allocates file space by writing zeros, also over existing data. */
bool ss_process_allocate(int fd, uint64_t offset, uint64_t bytes);

#endif
