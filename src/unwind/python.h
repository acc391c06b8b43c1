/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the Python stacks of a running CPython from outside, over a memory reader.
 *
 * Layouts are data (cpython_*.inc, `_Py_DebugOffsets` from 3.13). A walk plans address ranges from
 * the previous walk, fetches them in one call, decodes and validates the bytes. On failure it
 * retries, then returns the verified root-side part, flagged partial. Code objects, names and line
 * tables are cached by address and dropped when the address is reused.
 *
 * One ss_python per interpreter process, owned by one thread. Target memory is hostile: every size
 * and pointer is checked, loops are bounded, strings are capped.
 */
#ifndef SS_UNWIND_PYTHON_H
#define SS_UNWIND_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory_reader.h"
#include "base/strview.h"

enum {
    /* Of deeper stacks both ends are kept, and between them a frame that says so. */
    SS_PYTHON_MAX_DEPTH = 8192,
    SS_PYTHON_INNERMOST = SS_PYTHON_MAX_DEPTH / 2, /* frames that are kept of the inner end */
};

/* The location of the runtime, which the caller finds (ELF symbols, sections, maps). */
struct ss_python_location {
    uint64_t runtime_address; /* of _PyRuntime */
    uint32_t version_hex;     /* PY_VERSION_HEX (0x030b07f0); 0: unknown, every table is tried */
    bool is_debug;            /* Py_DEBUG build, as far as known */
    bool is_free_threaded;    /* Py_GIL_DISABLED build, as far as known */
};

struct ss_python_options {
    size_t size;
    /* Maps a pthread_t of the target to its kernel tid (3.8–3.10 have no tid in the thread
     * state); 0: unknown. May be NULL. */
    int32_t (*tid_of_pthread)(void *context, uint64_t pthread);
    void *context;
    bool no_lines; /* do not read line tables */
    /* The pid of the target in its own pid namespace; 0: the same as in ours. Serves to locate the
     * kernel tids of 3.8–3.10. */
    int32_t pid_in_namespace;
};

struct ss_python;

/* SS_E_AGAIN: the interpreter is not initialised yet, retry later. SS_E_UNSUPPORTED: this version
 * is not readable (the message says why). SS_E_GONE: the process ended. SS_E_PERMISSION: it may not
 * be read. */
enum ss_status ss_python_open(struct ss_memory_reader *reader,
                              const struct ss_python_location *location,
                              const struct ss_python_options *options, struct ss_python **python,
                              struct ss_error *err);
void ss_python_close(struct ss_python *python);
const char *ss_python_version(const struct ss_python *python); /* "3.13.0t", "3.11.7 debug" */

struct ss_python_thread {
    uint64_t tstate_address;
    uint64_t interpreter_id;
    int32_t tid;                 /* kernel tid in the target's innermost pid namespace; 0 unknown */
    uint64_t pthread;            /* thread_id of the thread state */
    bool is_main;                /* the main thread of the main interpreter */
    void *user;                  /* for the caller; NULL for a new thread */
    struct ss_python_walk *walk; /* private: predictions of the last walk */
    uint32_t seen;               /* private */
};

/* Refreshes the list of thread states (all interpreters); cheap (one small read) when nothing
 * changed. `force` walks the whole list. Calls `removed` for each ended thread, before freeing it.
 * SS_E_GONE: the process ended. */
enum ss_status ss_python_update_threads(struct ss_python *python, bool force,
                                        void (*removed)(void *context,
                                                        struct ss_python_thread *thread),
                                        void *context, struct ss_error *err);
/* true: since the last call, ss_python_walk_threads found the list unchanged; no refresh is needed.
 * Requests the next such check, which is read along with the next stacks. */
bool ss_python_poll_heads(struct ss_python *python);
size_t ss_python_thread_count(const struct ss_python *python);
/* Changes with every walk of the list: there may be new threads. */
uint32_t ss_python_thread_round(const struct ss_python *python);
struct ss_python_thread *ss_python_thread_at(struct ss_python *python, size_t index);

/* The GIL of the thread's interpreter, to distinguish waiting for it from sleeping: a futex in
 * [address, address + length) is the GIL's. false in free-threaded builds. */
bool ss_python_gil_range(const struct ss_python *python, const struct ss_python_thread *thread,
                         uint64_t *address, size_t *length);

/* The GIL of a process with exactly one, as read by the last ss_python_update_threads. */
struct ss_python_gil {
    uint64_t holder;   /* the thread state that holds it or held it last */
    uint64_t switches; /* counts the changes of `holder` */
    uint32_t waiters;  /* waiting threads if the C library is glibc: callers verify it */
    bool is_held;
};
/* false: unknown, several, or none. */
bool ss_python_get_gil(const struct ss_python *python, struct ss_python_gil *gil);

enum ss_python_result {
    SS_PYTHON_OK, /* verified and complete */
    /* The root-side part is verified and the rest kept changing or is unreadable, or the stack is
     * deeper than SS_PYTHON_MAX_DEPTH. */
    SS_PYTHON_PARTIAL,
    SS_PYTHON_EMPTY, /* no Python frames (a thread between calls) */
    SS_PYTHON_LOST   /* nothing could be verified, or the thread state is gone */
};

struct ss_python_stack {
    const uint32_t *frames; /* frame ids, outermost first; valid until the next walk */
    uint32_t depth;
    bool holds_gil; /* at the time of the walk; false in free-threaded builds */
    uint32_t retries;
};

enum ss_python_result ss_python_walk_thread(struct ss_python *python,
                                            struct ss_python_thread *thread,
                                            struct ss_python_stack *stack);

/* Walks many threads with few system calls and calls `visit` for each in order. A thread that
 * cannot run Python during the read, because another one holds the GIL throughout, is copied only
 * once. false: the target is gone or refuses; the remaining threads are not walked. */
struct ss_python_stack_visitor {
    void *context;
    void (*visit)(void *context, struct ss_python_thread *thread, enum ss_python_result result,
                  const struct ss_python_stack *stack);
};
bool ss_python_walk_threads(struct ss_python *python, struct ss_python_thread *const *threads,
                            size_t count, const struct ss_python_stack_visitor *visitor);

/* Frame ids are dense from 1 and never reused: (code object, line). Text is valid until close. */
struct ss_python_frame {
    struct ss_strview function; /* co_qualname from 3.11, else co_name */
    struct ss_strview name;     /* co_name */
    struct ss_strview file;     /* co_filename */
    int32_t line;               /* 0: unknown */
    int32_t first_line;
};
uint32_t ss_python_frame_count(const struct ss_python *python); /* ids are 1 … count */
void ss_python_frame_get(const struct ss_python *python, uint32_t id,
                         struct ss_python_frame *frame);

/* Re-reads the code objects of these frames, which walks have returned: a name holds at the time of
 * its walk if the code object is the same before and after. `*replaced`: some were not. false: the
 * target cannot be read. */
bool ss_python_check_frames(struct ss_python *python, const uint32_t *frames, size_t count,
                            bool *replaced);
/* Code objects that were read for names, so far: if a walk reads none, the names that it returns
 * are from before it. */
uint64_t ss_python_loads(const struct ss_python *python);
/* true: since its walk the code object of the frame was replaced: the name may be of another.
 */
bool ss_python_frame_is_replaced(const struct ss_python *python, uint32_t id);
/* The frame that stands for one whose code object was replaced. */
uint32_t ss_python_frame_unknown(struct ss_python *python);

/* Re-checks cached code objects against the target (reused addresses), a bounded number per call.
 * true: some changed, call again soon; else call about twice a second. */
bool ss_python_check_cache(struct ss_python *python);

/* threading.Thread names by pthread id (`threading._active`), bounded and best effort: calls `name`
 * for each name found. Call it only for new threads: it costs several reads per thread. */
void ss_python_thread_names(struct ss_python *python,
                            void (*name)(void *context, uint64_t pthread, struct ss_strview text),
                            void *context);

size_t ss_python_memory_bytes(const struct ss_python *python);

#endif
