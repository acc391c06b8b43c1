/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This process's ring file: made as the library is loaded (one page, until somebody records), and
 * made anew in a forked child, lazily. All that describes it lies in memory that the kernel wipes
 * on fork, so that a child cannot take its parent's for its own, whichever way it was forked.
 *
 * The header stands at one address for the life of the process and of its children: the gate that
 * the program tests is a word of it. Where no file can be made, the page is private memory and the
 * gate stays closed.
 *
 * Slow path only. The lock is held for microseconds, within ss_thread_enter (annot/thread.h):
 * nobody waits for it who may hold it himself, and nobody ends or leaves while he holds it.
 */
#ifndef SS_ANNOT_PROCESS_H
#define SS_ANNOT_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "ring/place.h"
#include "ring/producer.h"

/* Never NULL once ss_process_init has returned. */
extern struct ss_ring_header *ss_process_header;

/* Once, in the constructor. */
void ss_process_init(void);
/* Instead of it, where another library does the work: no file, a gate that stays closed. */
void ss_process_init_idle(void);
/* May names be kept at all? (Also where nothing can be recorded.) Else there is no lock either. */
bool ss_process_is_set_up(void);
void ss_process_lock(void);
void ss_process_unlock(void);

/* With the lock held: is this the process that the state belongs to? Makes the file of a forked
 * child. false: it has none. */
bool ss_process_ensure(void);

/* With the lock held: a ring for the calling thread, of an ended one or new. NULL: no room. */
struct ss_ring_thread *ss_process_take_ring(int32_t tid, uint32_t *slots_log2,
                                            bool *is_overwriting);
void ss_process_give_ring(struct ss_ring_thread *thread);
/* With the lock held: brings the log of definitions into the file. */
void ss_process_share_definitions(void);

/* Closes the gate when the recorder has not been heard of for too long. */
void ss_process_check_heartbeat(void);
void ss_process_count_dropped(void);
/* Rings that are made from now on are so large, where there is room; not those of its children. */
void ss_process_widen_rings(uint32_t slots_log2);
/* Records that found a ring full, so far. */
uint64_t ss_process_dropped(void);
/* Where the recorder tells us something (ring/sealed.h). false: nowhere. */
bool ss_process_sealed_path(char path[SS_RING_PATH_BYTES + 16]);
int ss_process_open_sealed(void); /* -1: it is not there */
/* Our file number `number`, from 0, of what torch.profiler saw (source/torch_profile.h). */
bool ss_process_torch_path(unsigned number, char path[SS_RING_PATH_BYTES + 16]);
/* Never 0, never twice; differs between processes. */
uint64_t ss_process_new_id(void);

/* getpid and, below, gettid are system calls; these are none but for the first time. */
pid_t ss_process_pid(void);
/* Of this thread; `tid_before`: what it was in the parent process, 0: not asked there. */
int32_t ss_process_find_tid(int32_t tid_before);

/* Zeroed memory that a forked child finds zeroed again; NULL: none. Never freed. */
void *ss_process_wiped_memory(size_t bytes);

#endif
