/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring file of this process: created when the library is loaded (one page until the first
 * recording), and lazily again in a forked child. Its state is in memory that the kernel wipes on
 * fork, so that no child, however forked, uses the state of its parent.
 *
 * The header, which contains the gate that the program tests, has one address for the life of the
 * process and its children. When no file can be created, the page is private memory and the gate
 * stays closed, until ss_process_prepare makes one.
 *
 * Slow path only. The lock is held for microseconds, inside ss_thread_enter (annot/thread.h). Not
 * re-entrant: signals and cancellation are blocked while it is held.
 */
#ifndef SS_ANNOT_PROCESS_H
#define SS_ANNOT_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "ring/folder.h"
#include "ring/producer.h"

/* Never NULL once ss_process_init has returned. */
extern struct ss_ring_header *ss_process_header;

/* Called once, in the constructor. */
void ss_process_init(void);
/* Instead, when another copy of the library does the work: no file, the gate stays closed. */
void ss_process_init_idle(void);
/* True when names can be defined, even if nothing is recorded; false: there is no lock either. */
bool ss_process_is_set_up(void);
void ss_process_lock(void);
void ss_process_unlock(void);

/* With the lock held: ensures that the state belongs to this process; creates the file of a forked
 * child. false: no ring file. */
bool ss_process_ensure(void);
/* With the lock held: as ss_process_ensure, and makes the file again if none could be made so far
 * or if another program has deleted it. 1: there is a ring file; 0: none can be made; -1: deleted,
 * and rings are mapped from it. */
int ss_process_prepare(void);

/* With the lock held: a reused or new ring for the calling thread. NULL: no room. */
struct ss_ring_thread *ss_process_acquire_ring(int32_t tid, uint32_t *slots_log2,
                                               bool *is_overwriting);
void ss_process_release_ring(struct ss_ring_thread *thread);
/* With the lock held: copies new definitions into the file and publishes them. */
void ss_process_share_definitions(void);

/* Closes the gate when the recorder's heartbeat has timed out. */
void ss_process_check_heartbeat(void);
void ss_process_count_dropped(void);
/* Sets the size of new rings, if there is room. Forked children do not inherit it. */
void ss_process_widen_rings(uint32_t slots_log2);
/* Records dropped so far because a ring was full. */
uint64_t ss_process_dropped(void);
/* Path of the recorder's notices (ring/sealed.h). false: no ring file. */
bool ss_process_sealed_path(char path[SS_RING_PATH_BYTES + 16]);
int ss_process_open_sealed(void); /* -1: no such file */
/* Path of file `number`, from 0, with results of torch.profiler (source/torch_profile.h). */
bool ss_process_torch_path(unsigned number, char path[SS_RING_PATH_BYTES + 16]);
/* Creates the file for the work of devices (ring/device_ring.h) with `bytes` of zeros. -1: none. */
int ss_process_make_device_file(uint64_t bytes);
/* Notifies the recorder of the file, which is complete: as for the ring file, by opening and
 * closing it again. */
void ss_process_announce_device_file(void);
/* Never 0, never repeated; differs between processes. */
uint64_t ss_process_new_id(void);

/* Cached: getpid and, below, gettid are system calls. */
pid_t ss_process_pid(void);
/* The tid of this thread. `tid_before`: its tid in the parent process; 0: unknown. */
int32_t ss_process_find_tid(int32_t tid_before);

/* Zeroed memory that the kernel zeroes again in a forked child; NULL: none. Never freed. */
void *ss_process_wiped_memory(size_t bytes);
/* In a forked child: wipes the memory if the kernel did not. */
void ss_process_wipe_after_fork(void);

#endif
