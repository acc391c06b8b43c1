/* SPDX-License-Identifier: Apache-2.0 */
#include "record/windows/on_demand_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/random.h"

static const char token_name[] = "token";
enum { ATTEMPTS = 3, MOST_ENTRIES = 1 << 20 };

static bool has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), wanted = strlen(suffix);
    return length > wanted && length < SS_ON_DEMAND_NAME_BYTES &&
           strcmp(name + length - wanted, suffix) == 0;
}

bool ss_on_demand_is_request(const char *name)
{
    return has_suffix(name, SS_ON_DEMAND_REQUEST_SUFFIX) && name[0] != '.';
}

bool ss_on_demand_is_said(const char *name)
{
    return has_suffix(name, SS_ON_DEMAND_SAID_SUFFIX) && name[0] != '.';
}

bool ss_on_demand_is_recorder(const char *name)
{
    return name[0] != '.' && strcmp(name, token_name) != 0 && !ss_on_demand_is_request(name) &&
           !ss_on_demand_is_said(name) && strlen(name) < SS_ON_DEMAND_NAME_BYTES - 16 &&
           strchr(name, '.') != NULL;
}

void ss_on_demand_path(const char *recording, bool is_folder, struct ss_strbuf *path)
{
    size_t length = strlen(recording);
    while (length > 1 && recording[length - 1] == '/') {
        length--;
    }
    ss_strbuf_append(path, recording, length);
    ss_strbuf_append_text(path, is_folder ? "/on-demand" : ".on-demand");
}

/* --- files ------------------------------------------------------------------------------------ */

static bool is_private(const struct stat *status)
{
    return status->st_uid == geteuid() && (status->st_mode & 077) == 0;
}

enum ss_status ss_on_demand_read(const struct ss_on_demand_folder *folder, const char *name,
                                 struct ss_strbuf *text, struct ss_error *err)
{
    struct stat status;
    char buffer[4096];
    ssize_t got = 0;
    ss_strbuf_clear(text);
    int fd = openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return ss_fail_errno(err, errno, "%s/%s", folder->path, name);
    }
    bool is_ours = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && is_private(&status);
    while (is_ours && !text->overflow && (got = read(fd, buffer, sizeof buffer)) > 0) {
        ss_strbuf_append(text, buffer, (size_t)got);
    }
    int saved = errno;
    close(fd);
    if (!is_ours) {
        return ss_fail(err, SS_E_PERMISSION,
                       "%s/%s is not a private file of this user: nothing in it counts",
                       folder->path, name);
    }
    return got < 0          ? ss_fail_errno(err, saved, "%s/%s", folder->path, name)
           : text->overflow ? ss_fail(err, SS_E_LIMIT, "%s/%s is too long", folder->path, name)
                            : SS_OK;
}

static void draft_name(const char *name, char draft[SS_ON_DEMAND_NAME_BYTES + 32])
{
    snprintf(draft, SS_ON_DEMAND_NAME_BYTES + 32, ".%s.%d", name, (int)getpid());
}

/* Returns an errno. */
static int write_draft(const struct ss_on_demand_folder *folder, const char *draft,
                       const char *text, size_t length)
{
    unlinkat(folder->fd, draft, 0);
    int fd = openat(folder->fd, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return errno;
    }
    errno = ENOSPC; /* of a write that was cut short */
    int code = write(fd, text, length) == (ssize_t)length ? 0 : errno;
    return close(fd) == 0 || code != 0 ? code : errno;
}

enum ss_status ss_on_demand_write(const struct ss_on_demand_folder *folder, const char *name,
                                  const char *text, size_t length, struct ss_error *err)
{
    char draft[SS_ON_DEMAND_NAME_BYTES + 32];
    draft_name(name, draft);
    int code = write_draft(folder, draft, text, length);
    if (code == 0 && renameat(folder->fd, draft, folder->fd, name) != 0) {
        code = errno;
    }
    if (code != 0) {
        unlinkat(folder->fd, draft, 0);
        return ss_fail_errno(err, code, "cannot write %s/%s", folder->path, name);
    }
    return SS_OK;
}

void ss_on_demand_remove(const struct ss_on_demand_folder *folder, const char *name)
{
    unlinkat(folder->fd, name, 0);
}

void ss_on_demand_list(const struct ss_on_demand_folder *folder,
                       void (*visit)(void *context, const char *name), void *context)
{
    /* Opened again each time: NFS then asks its server whether the folder has changed. */
    int fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    if (entries == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    const struct dirent *entry;
    for (int i = 0; i < MOST_ENTRIES && (entry = readdir(entries)) != NULL; i++) {
        visit(context, entry->d_name);
    }
    closedir(entries);
}

/* --- locks ------------------------------------------------------------------------------------ */

/* Locked before it has its name: a file without a lock is taken for one of a recorder that was
 * killed. */
int ss_on_demand_hold(const struct ss_on_demand_folder *folder, const char *name, const char *text,
                      size_t length, struct ss_error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char draft[SS_ON_DEMAND_NAME_BYTES + 32];
    draft_name(name, draft);
    int code = write_draft(folder, draft, text, length);
    int fd = code == 0 ? openat(folder->fd, draft, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fcntl(fd, F_OFD_SETLK, &lock); /* a file system without locks: answers alone show life */
    } else if (code == 0) {
        code = errno;
    }
    if (code == 0 && renameat(folder->fd, draft, folder->fd, name) != 0) {
        code = errno;
    }
    if (code != 0) {
        unlinkat(folder->fd, draft, 0);
        if (fd >= 0) {
            close(fd);
        }
        ss_fail_errno(err, code, "cannot write %s/%s", folder->path, name);
        return -1;
    }
    return fd;
}

bool ss_on_demand_is_abandoned(const struct ss_on_demand_folder *folder, const char *name,
                               bool *has_locks)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = openat(folder->fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    *has_locks = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0;
    bool is_abandoned = fd < 0 ? errno == ENOENT : *has_locks && lock.l_type == F_UNLCK;
    if (fd >= 0) {
        close(fd);
    }
    return is_abandoned;
}

/* --- the folder ------------------------------------------------------------------------------- */

static enum ss_status open_private(struct ss_on_demand_folder *folder, const char *path,
                                   struct ss_error *err)
{
    struct stat status;
    *folder = (struct ss_on_demand_folder){.fd = -1};
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return ss_fail_errno(err, errno, "%s", path);
    }
    if (fstat(fd, &status) != 0 || !is_private(&status)) {
        close(fd);
        return ss_fail(err, SS_E_PERMISSION,
                       "%s is not a private folder of this user (owner %u, mode %03o): run as the "
                       "user whose run it is, or remove it",
                       path, (unsigned)status.st_uid, (unsigned)status.st_mode & 0777);
    }
    folder->fd = fd;
    folder->path = ss_strdup(path);
    return SS_OK;
}

static enum ss_status read_token(struct ss_on_demand_folder *folder, struct ss_error *err)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, SS_ON_DEMAND_REQUEST_BYTES);
    enum ss_status status = ss_on_demand_read(folder, token_name, &text, err);
    if (status == SS_OK && (text.length < SS_ON_DEMAND_TOKEN_BYTES - 1 ||
                            !ss_ping_key_make(text.data, &folder->key))) {
        status = ss_fail(err, SS_E_FORMAT, "%s/%s is not a token: remove the folder", folder->path,
                         token_name);
    }
    ss_strbuf_fini(&text);
    return status;
}

/* Another recorder may be first: its token counts. */
static enum ss_status make_token(const struct ss_on_demand_folder *folder, struct ss_error *err)
{
    unsigned char bytes[(SS_ON_DEMAND_TOKEN_BYTES - 1) / 2];
    char token[SS_ON_DEMAND_TOKEN_BYTES + 1], draft[SS_ON_DEMAND_NAME_BYTES + 32];
    char unique[SS_ON_DEMAND_NAME_BYTES];
    if (!ss_random_bytes(bytes, sizeof bytes)) {
        return ss_fail_errno(err, errno, "no random numbers for a token");
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    }
    /* Recorders of several machines may have the same process id. */
    snprintf(unique, sizeof unique, "%s-%.8s", token_name, token);
    draft_name(unique, draft);
    if (!ss_random_bytes(bytes, sizeof bytes)) {
        return ss_fail_errno(err, errno, "no random numbers for a token");
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    }
    int code = write_draft(folder, draft, token, strlen(token));
    if (code == 0 && linkat(folder->fd, draft, folder->fd, token_name, 0) != 0) {
        code = errno == EEXIST ? 0 : errno;
    }
    unlinkat(folder->fd, draft, 0);
    return code == 0 ? SS_OK : ss_fail_errno(err, code, "cannot write %s/token", folder->path);
}

enum ss_status ss_on_demand_folder_open(struct ss_on_demand_folder *folder, const char *path,
                                        struct ss_error *err)
{
    SS_TRY(open_private(folder, path, err));
    enum ss_status status = read_token(folder, err);
    if (status != SS_OK) {
        ss_on_demand_folder_close(folder);
    }
    return status;
}

/* The last recorder of an earlier run may remove the folder meanwhile. */
enum ss_status ss_on_demand_folder_create(struct ss_on_demand_folder *folder, const char *path,
                                          struct ss_error *err)
{
    enum ss_status status = SS_E_IO;
    for (int i = 0; i < ATTEMPTS && status != SS_OK && status != SS_E_PERMISSION; i++) {
        if (mkdir(path, 0700) != 0 && errno != EEXIST) {
            *folder = (struct ss_on_demand_folder){.fd = -1};
            return ss_fail_errno(err, errno, "cannot create %s", path);
        }
        status = open_private(folder, path, err);
        if (status == SS_OK && read_token(folder, err) != SS_OK) {
            status = make_token(folder, err) == SS_OK ? read_token(folder, err) : err->status;
        }
        if (status != SS_OK) {
            ss_on_demand_folder_close(folder);
        }
    }
    return status;
}

void ss_on_demand_folder_close(struct ss_on_demand_folder *folder)
{
    if (folder->fd >= 0) {
        close(folder->fd);
    }
    ss_free(folder->path);
    *folder = (struct ss_on_demand_folder){.fd = -1};
}
