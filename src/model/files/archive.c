/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"

enum { BLOCK_BYTES = 256 * 1024, MOST_MEMBERS = 1 << 20 };

struct ss_archive {
    struct archive *reader;
    char *path;
    unsigned members;
    bool is_raw; /* a compressed file: its content is the only member */
    struct ss_input_budget own, *budget;
    /* Of a file of gzip, not of one within: what was unpacked so far. */
    bool is_gzip;
    uint32_t crc, length;
};

/* The filters that libarchive implements itself: others start programs. */
static const struct magic {
    const char *bytes;
    size_t length, offset;
} magics[] = {{"\x1f\x8b", 2, 0},
              {"BZh", 3, 0},
              {"\xfd"
               "7zXZ",
               5, 0},
              {"\x28\xb5\x2f\xfd", 4, 0},
              {"PK\x03\x04", 4, 0},
              {"ustar", 5, 257}};

static const struct magic *find_magic(const char *head, size_t length)
{
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        if (length >= magics[i].offset + magics[i].length &&
            memcmp(head + magics[i].offset, magics[i].bytes, magics[i].length) == 0) {
            return &magics[i];
        }
    }
    return NULL;
}

bool ss_archive_is(const char *head, size_t length)
{
    return find_magic(head, length) != NULL;
}

static enum ss_status fail(const struct ss_archive *archive, struct ss_error *err)
{
    const char *reason = archive_error_string(archive->reader);
    return ss_fail(err, SS_E_FORMAT, "%s cannot be unpacked: %s", archive->path,
                   reason != NULL ? reason : "unknown format");
}

enum ss_status ss_archive_open(const char *path, struct ss_archive **archive, struct ss_error *err)
{
    struct ss_archive *opened = ss_alloc_zero(1, sizeof *opened);
    opened->path = ss_strdup(path);
    opened->reader = archive_read_new();
    archive_read_support_filter_gzip(opened->reader);
    archive_read_support_filter_bzip2(opened->reader);
    archive_read_support_filter_xz(opened->reader);
    archive_read_support_filter_zstd(opened->reader);
    archive_read_support_format_tar(opened->reader);
    archive_read_support_format_zip(opened->reader);
    archive_read_support_format_raw(opened->reader);
    if (archive_read_open_filename(opened->reader, path, BLOCK_BYTES) != ARCHIVE_OK) {
        enum ss_status status = fail(opened, err);
        ss_archive_close(opened);
        return status;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ss_input_budget_init(&opened->own, opened->path, fd);
    opened->own.is_requested = true; /* of memory there is no limit: nothing grows while it reads */
    opened->budget = &opened->own;
    if (fd >= 0) {
        close(fd);
    }
    *archive = opened;
    return SS_OK;
}

void ss_archive_charge(struct ss_archive *archive, struct ss_input_budget *budget)
{
    archive->budget = budget;
}

void ss_archive_close(struct ss_archive *archive)
{
    if (archive != NULL) {
        archive_read_free(archive->reader);
        ss_free(archive->path);
        ss_free(archive);
    }
}

uint64_t ss_archive_bytes(const struct ss_archive *archive)
{
    struct stat status;
    return stat(archive->path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

/* What is compressed as a whole must be unpacked to be skipped. */
static enum ss_status skip_member(struct ss_archive *archive, struct ss_error *err)
{
    const void *block;
    size_t length;
    la_int64_t offset;
    while (archive->members > 0 && archive_filter_code(archive->reader, 0) != ARCHIVE_FILTER_NONE &&
           archive_read_data_block(archive->reader, &block, &length, &offset) == ARCHIVE_OK) {
        SS_TRY(ss_input_budget_read(archive->budget, length, err));
    }
    return SS_OK;
}

enum ss_status ss_archive_next(struct ss_archive *archive, const char **name, struct ss_error *err)
{
    *name = NULL;
    for (; archive->members < MOST_MEMBERS && !archive->is_raw; archive->members++) {
        struct archive_entry *entry = NULL;
        SS_TRY(skip_member(archive, err));
        int result = archive_read_next_header(archive->reader, &entry);
        if (result == ARCHIVE_EOF) {
            return SS_OK;
        }
        if (result < ARCHIVE_WARN) {
            return fail(archive, err);
        }
        bool is_raw = archive_format(archive->reader) == ARCHIVE_FORMAT_RAW;
        if (is_raw && archive_filter_code(archive->reader, 0) == ARCHIVE_FILTER_NONE) {
            return ss_fail(err, SS_E_FORMAT,
                           "%s begins as a file of gzip, bzip2, xz or zstd, but cannot be "
                           "unpacked: its first bytes are damaged",
                           archive->path);
        }
        if (is_raw) {
            archive->is_raw = true;
            archive->is_gzip = archive_filter_code(archive->reader, 0) == ARCHIVE_FILTER_GZIP &&
                               archive_filter_code(archive->reader, 1) == ARCHIVE_FILTER_NONE;
            *name = "";
            return SS_OK;
        }
        if (archive_entry_filetype(entry) == AE_IFREG) {
            const char *known = archive_entry_pathname(entry);
            *name = known != NULL && known[0] != '\0' ? known : "?";
            archive->members++;
            return SS_OK;
        }
    }
    if (archive->is_raw) {
        return SS_OK;
    }
    return ss_fail(err, SS_E_LIMIT, "%s has more than %d members: unpack it", archive->path,
                   MOST_MEMBERS);
}

static uint32_t little_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* libarchive ignores the checksum at the end of a gzip file. A file of several members has the
 * length of its last one there, which is another: its checksum is unknown. */
static enum ss_status check_gzip(const struct ss_archive *archive, struct ss_error *err)
{
    unsigned char trailer[8];
    int fd = open(archive->path, O_RDONLY | O_CLOEXEC);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
    bool is_read =
        size >= (off_t)sizeof trailer &&
        pread(fd, trailer, sizeof trailer, size - (off_t)sizeof trailer) == (ssize_t)sizeof trailer;
    if (fd >= 0) {
        close(fd);
    }
    if (is_read && little_endian(trailer + 4) == archive->length &&
        little_endian(trailer) != archive->crc) {
        return ss_fail(err, SS_E_CHECKSUM,
                       "%s has another checksum than its contents: it is damaged; copy it again",
                       archive->path);
    }
    return SS_OK;
}

enum ss_status ss_archive_read(struct ss_archive *archive, char *buffer, size_t capacity,
                               size_t *got, struct ss_error *err)
{
    la_ssize_t length = archive_read_data(archive->reader, buffer, capacity);
    if (length < 0) {
        return fail(archive, err);
    }
    *got = (size_t)length;
    SS_TRY(ss_input_budget_read(archive->budget, *got, err));
    if (!archive->is_gzip) {
        return SS_OK;
    }
    archive->crc = (uint32_t)crc32(archive->crc, (const unsigned char *)buffer, (uInt)length);
    archive->length += (uint32_t)length;
    return length == 0 ? check_gzip(archive, err) : SS_OK;
}
