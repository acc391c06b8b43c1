/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames and stacks of all recorded processes, written to the trace once each. Workers that were
 * forked from one program share them. Owned by the recorder's thread.
 */
#ifndef SS_RECORD_RECORDING_FRAME_TABLE_H
#define SS_RECORD_RECORDING_FRAME_TABLE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/recording/recording.h"
#include "source/python_sampler.h"

struct ss_frame_table;

struct ss_frame_table *ss_frame_table_new(struct ss_recording *recording);
void ss_frame_table_free(struct ss_frame_table *table);

/* Ref of a frame of process `pid`. Its file is searched in that process's file system, to split the
 * package's folder from the path inside it. */
enum ss_status ss_frame_table_frame(struct ss_frame_table *table, pid_t pid,
                                    const struct ss_python_frame *frame, uint32_t *ref,
                                    struct ss_error *err);
/* Ref of the stack node for `frame_ref` called from `parent_ref`; 0 when the table is full. */
enum ss_status ss_frame_table_stack(struct ss_frame_table *table, uint32_t parent_ref,
                                    uint32_t frame_ref, uint32_t *ref, struct ss_error *err);
size_t ss_frame_table_memory_bytes(const struct ss_frame_table *table);

/* Offset in `file` where the path inside its package begins: keeps folders that contain an
 * __init__.py and drops those above them. Resolved below /proc/PID/root or cwd. Exposed for tests.
 */
uint32_t ss_short_file_offset(pid_t pid, const char *file);
/* A relative path below the process's working folder, as a reader of the recording needs it to find
 * the source; `file` itself where there is no such file. Exposed for tests. */
struct ss_strview ss_whole_file(pid_t pid, struct ss_strview file, char whole[PATH_MAX]);
/* Whether an installer put the file outside of the usual folders: beside its package lies metadata
 * that lists it. `short_offset`: where the path inside its package begins. Exposed for tests. */
bool ss_is_installed_file(pid_t pid, struct ss_strview file, size_t short_offset);

#endif
