/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder through which `stepscope trigger` reaches the recorders of a run (docs/on-demand.md):
 *
 *   token           32 hexadecimal digits, random: requests are signed with it
 *   HOST.PID        one for each recorder, which holds a lock on it while it lives
 *   HOST.PID.said   its answers, replaced as a whole
 *   ID.request      a request; removed by the process that made it
 *
 * The folder has mode 0700 and its files 0600. Both sides refuse a folder or a file of another
 * user, and one that others could read or write; so nothing but the file system's permissions is
 * trusted, and no port is open. A file is written under another name, and then renamed or linked.
 */
#ifndef SS_RECORD_WINDOWS_ON_DEMAND_FOLDER_H
#define SS_RECORD_WINDOWS_ON_DEMAND_FOLDER_H

#include "base/error.h"
#include "base/strbuf.h"
#include "record/windows/on_demand_text.h"

enum {
    SS_ON_DEMAND_NAME_BYTES = 128,
    SS_ON_DEMAND_FILE_BYTES = 1 << 20,
    SS_ON_DEMAND_MOST_REQUESTS = 64 /* that a recorder follows at a time */
};

#define SS_ON_DEMAND_REQUEST_SUFFIX ".request"
#define SS_ON_DEMAND_SAID_SUFFIX ".said"

struct ss_on_demand_folder {
    char *path;
    int fd; /* -1: not open */
    struct ss_ping_key key;
};

/* Of a recording: RUN/on-demand for a folder, FILE.on-demand for a file. `is_folder`: of a name
 * that may not exist yet. */
void ss_on_demand_path(const char *recording, bool is_folder, struct ss_strbuf *path);

/* For a recorder: creates the folder and the token, if no other recorder has. */
enum ss_status ss_on_demand_folder_create(struct ss_on_demand_folder *folder, const char *path,
                                          struct ss_error *err);
/* Of a run that others record. */
enum ss_status ss_on_demand_folder_open(struct ss_on_demand_folder *folder, const char *path,
                                        struct ss_error *err);
void ss_on_demand_folder_close(struct ss_on_demand_folder *folder);

/* SS_E_PERMISSION: not a private file of this user. `text` is cleared first. */
enum ss_status ss_on_demand_read(const struct ss_on_demand_folder *folder, const char *name,
                                 struct ss_strbuf *text, struct ss_error *err);
/* Whole or not at all. */
enum ss_status ss_on_demand_write(const struct ss_on_demand_folder *folder, const char *name,
                                  const char *text, size_t length, struct ss_error *err);
void ss_on_demand_remove(const struct ss_on_demand_folder *folder, const char *name);

/* A recorder's own file, with a lock on it until the descriptor is closed; -1: an error. */
int ss_on_demand_hold(const struct ss_on_demand_folder *folder, const char *name, const char *text,
                      size_t length, struct ss_error *err);
/* Whether its recorder has ended: false also where the file system has no locks. */
bool ss_on_demand_is_abandoned(const struct ss_on_demand_folder *folder, const char *name,
                               bool *has_locks);

/* Calls `visit` with each name in the folder, as it is now on its server. */
void ss_on_demand_list(const struct ss_on_demand_folder *folder,
                       void (*visit)(void *context, const char *name), void *context);
bool ss_on_demand_is_request(const char *name);
/* "HOST.PID" of a recorder. */
bool ss_on_demand_is_recorder(const char *name);
bool ss_on_demand_is_said(const char *name);

#endif
