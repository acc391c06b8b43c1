/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/unpacked.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/random.h"
#include "model/files/archive.h"

/* Tables of numbers and repeated names become 5 to 15 times smaller, a few bytes that fill a disk a
 * thousand times. */
enum { MOST_RATIO = 100, BLOCK_BYTES = 1 << 20 };
static const uint64_t least_limit = UINT64_C(256) << 20;

static const char *folder_of_copies(void)
{
    const char *folder = ss_env_get(SS_ENV_TMPDIR);
    return folder != NULL && folder[0] != '\0' ? folder : "/tmp";
}

static enum ss_status check_limit(const struct ss_import_file *member, uint64_t bytes,
                                  struct ss_error *err)
{
    uint64_t packed = ss_archive_bytes(member->archive);
    uint64_t limit = packed > least_limit / MOST_RATIO ? packed * MOST_RATIO : least_limit;
    if (bytes > limit) {
        return ss_fail(err, SS_E_LIMIT,
                       "%s unpacks to more than %" PRIu64 " MB, %d times its archive: unpack it "
                       "yourself",
                       member->path, limit >> 20, MOST_RATIO);
    }
    return SS_OK;
}

/* --- names ------------------------------------------------------------------------------------ */

static enum ss_status fail(const struct ss_import_file *member, int code, struct ss_error *err)
{
    return ss_fail_errno(err, code, "cannot unpack %s into %s (TMPDIR selects another folder)",
                         member->path, folder_of_copies());
}

/* Gives the finished copy a name, which nothing has yet. */
static bool put_name(struct ss_unpacked *unpacked)
{
    enum { ATTEMPTS = 16 };
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", unpacked->fd);
    for (int i = 0; i < ATTEMPTS; i++) {
        uint64_t random = 0;
        if (!ss_random_bytes(&random, sizeof random)) {
            break;
        }
        snprintf(unpacked->path, sizeof unpacked->path, "%s/stepscope-unpacked-%016" PRIx64,
                 folder_of_copies(), random);
        if (linkat(AT_FDCWD, self, AT_FDCWD, unpacked->path, AT_SYMLINK_FOLLOW) == 0) {
            return true;
        }
    }
    unpacked->path[0] = '\0';
    return false;
}

static int open_unnamed(void)
{
    return open(folder_of_copies(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
}

static int open_named(struct ss_unpacked *unpacked)
{
    snprintf(unpacked->path, sizeof unpacked->path, "%s/stepscope-unpacked-XXXXXX",
             folder_of_copies());
    int fd = mkostemp(unpacked->path, O_CLOEXEC);
    if (fd < 0) {
        unpacked->path[0] = '\0';
    }
    return fd;
}

/* --- content ---------------------------------------------------------------------------------- */

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno != EINTR) {
            return errno;
        }
        bytes += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

static enum ss_status copy(const struct ss_unpacked *unpacked, const struct ss_import_file *member,
                           uint64_t stated_bytes, char *buffer, struct ss_error *err)
{
    uint64_t most = stated_bytes > 0 ? stated_bytes : UINT64_MAX;
    uint64_t done = member->head_length;
    int code = write_all(unpacked->fd, member->head, member->head_length);
    while (code == 0 && done < most) {
        size_t got = 0;
        SS_TRY(ss_import_read(member, buffer, BLOCK_BYTES, &got, err));
        if (got == 0) {
            break;
        }
        done += got;
        SS_TRY(check_limit(member, stated_bytes > 0 ? stated_bytes : done, err));
        code = write_all(unpacked->fd, buffer, got);
    }
    return code == 0 ? SS_OK : fail(member, code, err);
}

static enum ss_status make(struct ss_unpacked *unpacked, const struct ss_import_file *member,
                           uint64_t stated_bytes, struct ss_error *err)
{
    SS_TRY(check_limit(member, stated_bytes, err));
    unpacked->fd = open_unnamed();
    unpacked->fd = unpacked->fd >= 0 ? unpacked->fd : open_named(unpacked);
    if (unpacked->fd < 0) {
        return fail(member, errno, err);
    }
    char *buffer = ss_alloc(BLOCK_BYTES);
    enum ss_status status = copy(unpacked, member, stated_bytes, buffer, err);
    ss_free(buffer);
    if (status == SS_OK && unpacked->path[0] == '\0' && !put_name(unpacked)) {
        return fail(member, errno, err);
    }
    return status;
}

enum ss_status ss_unpacked_init(struct ss_unpacked *unpacked, const struct ss_import_file *member,
                                uint64_t stated_bytes, struct ss_error *err)
{
    *unpacked = (struct ss_unpacked){.fd = -1};
    enum ss_status status = make(unpacked, member, stated_bytes, err);
    if (status != SS_OK) {
        ss_unpacked_fini(unpacked);
    }
    return status;
}

void ss_unpacked_unlink(struct ss_unpacked *unpacked)
{
    if (unpacked->path[0] != '\0') {
        unlink(unpacked->path);
        unpacked->path[0] = '\0';
    }
}

void ss_unpacked_fini(struct ss_unpacked *unpacked)
{
    ss_unpacked_unlink(unpacked);
    if (unpacked->fd >= 0) {
        close(unpacked->fd);
        unpacked->fd = -1;
    }
}
