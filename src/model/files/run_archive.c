/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/run_archive.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/strbuf.h"
#include "model/files/archive.h"
#include "wire/json_scan.h"

enum {
    MOST_PATH_BYTES = 65536,
    MOST_NAME_BYTES = 255,
    MOST_MEMBERS = 1 << 20,
    PROBED_MEMBERS = 16,
    BUFFER_BYTES = 1 << 16,
    MOST_MANIFEST_BYTES = 64 << 20,
    MOST_EXPANSION = 64 /* recordings are compressed already: an archive cannot shrink them much */
};
static const uint64_t least_room_bytes = 64 << 20;

/* The part of a member's name that counts in a run: "run.json", "ranks/r00042.pftrace",
 * "ranks/001/r01042.pftrace". NULL: it does not belong to one. What is before it is the name of the
 * folder that was packed. */
static const char *name_in_run(const char *member)
{
    static const char *const parts[] = {"ranks/", "nodes/"};
    const char *slash = strrchr(member, '/'), *file = slash != NULL ? slash + 1 : member;
    size_t length = strlen(file);
    if (strcmp(file, "run.json") == 0) {
        return file;
    }
    bool is_trace = length > 8 && length <= MOST_NAME_BYTES && file[0] != '.' &&
                    strcmp(file + length - 8, ".pftrace") == 0;
    for (int i = 0; i < 2 && is_trace; i++) {
        for (const char *at = strstr(member, parts[i]); at != NULL; at = strstr(at + 1, parts[i])) {
            const char *rest = at + strlen(parts[i]);
            bool is_component = at == member || at[-1] == '/';
            bool is_fanned = strspn(rest, "0123456789") == 3 && rest + 4 == file;
            if (is_component && (rest == file || is_fanned)) {
                return at;
            }
        }
    }
    return NULL;
}

bool ss_run_archive_is(const char *path)
{
    struct ss_archive *archive = NULL;
    struct ss_error ignored;
    const char *name = NULL;
    bool is_run = false;
    if (ss_archive_open(path, &archive, &ignored) != SS_OK) {
        return false;
    }
    for (int i = 0; i < PROBED_MEMBERS && !is_run &&
                    ss_archive_next(archive, &name, &ignored) == SS_OK && name != NULL;
         i++) {
        const char *own = name_in_run(name);
        is_run = own != NULL && strcmp(own, "run.json") != 0;
    }
    ss_archive_close(archive);
    return is_run;
}

/* --- unpacking -------------------------------------------------------------------------------- */

struct unpacking {
    const char *path; /* of the archive */
    struct ss_archive *archive;
    const char *folder;
    char *buffer;
    uint64_t room_bytes; /* that may still be written */
};

static enum ss_status make_folders(char *path, struct ss_error *err)
{
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            int failed = mkdir(path, 0700) != 0 && errno != EEXIST ? errno : 0;
            *at = '/';
            if (failed != 0) {
                return ss_fail_errno(err, failed, "cannot create a folder for %s", path);
            }
        }
    }
    return SS_OK;
}

static enum ss_status copy_member(struct unpacking *unpacking, int fd, const char *path,
                                  struct ss_error *err)
{
    for (;;) {
        size_t got;
        SS_TRY(ss_archive_read(unpacking->archive, unpacking->buffer, BUFFER_BYTES, &got, err));
        if (got == 0) {
            return SS_OK;
        }
        if (got > unpacking->room_bytes) {
            return ss_fail(err, SS_E_LIMIT, "%s expands to more than %d times its size",
                           unpacking->path, MOST_EXPANSION);
        }
        unpacking->room_bytes -= got;
        for (size_t done = 0; done < got;) {
            ssize_t written = write(fd, unpacking->buffer + done, got - done);
            if (written <= 0 && errno != EINTR) {
                return ss_fail_errno(err, errno, "cannot write %s", path);
            }
            done += written > 0 ? (size_t)written : 0;
        }
    }
}

/* A name that comes twice is an error: O_EXCL. */
static enum ss_status unpack_member(struct unpacking *unpacking, const char *name,
                                    struct ss_error *err)
{
    struct ss_strbuf path;
    ss_strbuf_init(&path, MOST_PATH_BYTES);
    ss_strbuf_append_format(&path, "%s/%s", unpacking->folder, name);
    enum ss_status status = make_folders(path.data, err);
    int fd = status == SS_OK
                 ? open(path.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                 : -1;
    if (status == SS_OK && fd < 0) {
        status = ss_fail_errno(err, errno, "cannot unpack %s of %s", name, unpacking->path);
    } else if (status == SS_OK) {
        status = copy_member(unpacking, fd, path.data, err);
    }
    if (fd >= 0) {
        close(fd);
    }
    ss_strbuf_fini(&path);
    return status;
}

/* --- the manifest of `merge --pack` -------------------------------------------------------------
 */

static enum ss_status write_file(const char *path, struct ss_strview text, struct ss_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool is_written = fd >= 0 && write(fd, text.data, text.length) == (ssize_t)text.length;
    int failed = errno;
    if (fd >= 0) {
        close(fd);
    }
    return is_written ? SS_OK : ss_fail_errno(err, failed, "cannot write %s", path);
}

/* The run.json within Perfetto's manifest; SS_OK also where there is none. */
static enum ss_status unpack_run(const struct unpacking *unpacking, struct ss_strview manifest,
                                 struct ss_error *err)
{
    struct ss_json_cursor cursor = {manifest.data, manifest.data + manifest.length};
    struct ss_json_text key;
    struct ss_strview value;
    if (ss_json_peek(&cursor) != SS_JSON_OBJECT) {
        return SS_OK;
    }
    cursor.at++;
    while (ss_json_next_member(&cursor, &key, &value)) {
        if (ss_json_is_key(key, "stepscope_run")) {
            struct ss_strbuf path;
            ss_strbuf_init(&path, MOST_PATH_BYTES);
            ss_strbuf_append_format(&path, "%s/run.json", unpacking->folder);
            enum ss_status status = make_folders(path.data, err);
            status = status == SS_OK ? write_file(path.data, value, err) : status;
            ss_strbuf_fini(&path);
            return status;
        }
    }
    return SS_OK;
}

static enum ss_status unpack_manifest(struct unpacking *unpacking, struct ss_error *err)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MOST_MANIFEST_BYTES);
    enum ss_status status = SS_OK;
    for (size_t got = 1; status == SS_OK && got > 0 && !text.overflow;) {
        status = ss_archive_read(unpacking->archive, unpacking->buffer, BUFFER_BYTES, &got, err);
        ss_strbuf_append(&text, unpacking->buffer, status == SS_OK ? got : 0);
    }
    if (status == SS_OK && text.overflow) {
        status = ss_fail(err, SS_E_LIMIT, "the manifest of %s has more than %d bytes",
                         unpacking->path, MOST_MANIFEST_BYTES);
    } else if (status == SS_OK) {
        status = unpack_run(unpacking, (struct ss_strview){text.data, text.length}, err);
    }
    ss_strbuf_fini(&text);
    return status;
}

static enum ss_status unpack_members(struct unpacking *unpacking, struct ss_error *err)
{
    const char *name = NULL;
    for (int i = 0; i < MOST_MEMBERS; i++) {
        SS_TRY(ss_archive_next(unpacking->archive, &name, err));
        if (name == NULL) {
            return SS_OK;
        }
        const char *own = name_in_run(name);
        if (strcmp(name, "perfetto_manifest.json") == 0) {
            SS_TRY(unpack_manifest(unpacking, err));
        } else if (own != NULL) {
            SS_TRY(unpack_member(unpacking, own, err));
        }
    }
    return ss_fail(err, SS_E_LIMIT, "%s has more than %d members", unpacking->path, MOST_MEMBERS);
}

static enum ss_status make_folder(char **folder, struct ss_error *err)
{
    const char *root = ss_env_get(SS_ENV_TMPDIR);
    struct ss_strbuf path;
    ss_strbuf_init(&path, MOST_PATH_BYTES);
    ss_strbuf_append_format(&path, "%s/stepscope-run-XXXXXX",
                            root != NULL && root[0] != '\0' ? root : "/tmp");
    enum ss_status status = SS_OK;
    *folder = NULL;
    if (path.overflow || mkdtemp(path.data) == NULL) {
        status = ss_fail_errno(err, errno, "cannot create the folder %s", path.data);
    } else {
        ss_strbuf_append_text(&path, "/run.stepscope");
        *folder = ss_strbuf_take(&path);
    }
    ss_strbuf_fini(&path);
    return status;
}

enum ss_status ss_run_archive_unpack(const char *path, char **folder, struct ss_error *err)
{
    struct stat info;
    struct unpacking unpacking = {.path = path};
    *folder = NULL;
    SS_TRY(ss_archive_open(path, &unpacking.archive, err));
    enum ss_status status = make_folder(folder, err);
    if (status == SS_OK) {
        uint64_t size = stat(path, &info) == 0 && info.st_size > 0 ? (uint64_t)info.st_size : 0;
        unpacking.folder = *folder;
        unpacking.room_bytes = size * MOST_EXPANSION + least_room_bytes;
        unpacking.buffer = ss_alloc(BUFFER_BYTES);
        status = unpack_members(&unpacking, err);
        ss_free(unpacking.buffer);
    }
    ss_archive_close(unpacking.archive);
    if (status != SS_OK) {
        ss_run_archive_remove(*folder);
        *folder = NULL;
    }
    return status;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    remove(path);
    return 0;
}

void ss_run_archive_remove(char *folder)
{
    char *slash = folder != NULL ? strrchr(folder, '/') : NULL;
    if (slash != NULL) {
        *slash = '\0'; /* the folder that mkdtemp created */
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    }
    ss_free(folder);
}
