/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the importer of a file by its first bytes. */
#include "model/files/importer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "model/files/archive.h"
#include "model/files/foreign_format.h"

const struct ss_importer *const ss_importers[] = {&ss_importer_trace,
                                                  &ss_importer_chrome,
                                                  &ss_importer_xspace,
                                                  &ss_importer_speedscope,
                                                  &ss_importer_ncu,
                                                  &ss_importer_nsys,
                                                  &ss_importer_snapshot,
                                                  &ss_importer_memory_timeline,
                                                  &ss_importer_perfetto,
                                                  &ss_importer_raw,
                                                  NULL};

static const struct ss_importer *best_row(const char *head, size_t length,
                                          enum ss_import_match *best_match)
{
    const struct ss_importer *best = NULL;
    *best_match = SS_IMPORT_NO;
    for (size_t i = 0; ss_importers[i] != NULL && *best_match < SS_IMPORT_CERTAIN; i++) {
        enum ss_import_match match = ss_importers[i]->probe(head, length);
        if (match > *best_match) {
            *best_match = match;
            best = ss_importers[i];
        }
    }
    return best;
}

/* NULL with an error: no row loads it. */
static const struct ss_importer *select_row(const struct ss_import_file *file, bool is_named,
                                            struct ss_error *err)
{
    enum ss_import_match match;
    const struct ss_importer *row = best_row(file->head, file->head_length, &match);
    if (match == SS_IMPORT_CERTAIN || (match == SS_IMPORT_LIKELY && row->kind == SS_INPUT_IMPORT)) {
        return row;
    }
    const struct ss_foreign_format *foreign = ss_foreign_format_of(file->head, file->head_length);
    if (foreign != NULL) {
        ss_foreign_format_fail(foreign, file->path, err);
        return NULL;
    }
    if (!is_named && match < SS_IMPORT_LIKELY) {
        ss_fail(err, SS_E_FORMAT, "%s is neither a trace nor a raw file", file->path);
        return NULL;
    }
    return row;
}

static enum ss_status read_fd(int fd, const char *path, char *buffer, size_t capacity, size_t *got,
                              struct ss_error *err)
{
    ssize_t length;
    do {
        length = read(fd, buffer, capacity);
    } while (length < 0 && errno == EINTR);
    if (length < 0) {
        return ss_fail_errno(err, errno, "cannot read %s", path);
    }
    *got = (size_t)length;
    return SS_OK;
}

enum ss_status ss_import_read(const struct ss_import_file *file, char *buffer, size_t capacity,
                              size_t *got, struct ss_error *err)
{
    *got = 0;
    if (file->archive != NULL) {
        return ss_archive_read(file->archive, buffer, capacity, got, err);
    }
    SS_TRY(file->fd >= 0 ? read_fd(file->fd, file->path, buffer, capacity, got, err) : SS_OK);
    return ss_input_budget_read(file->budget, *got, err);
}

/* Editors and PowerShell begin UTF-8 with one. Offsets in such a file count from behind it. */
static void skip_byte_order_mark(char *head, size_t *length)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (*length >= 3 && memcmp(head, mark, 3) == 0) {
        *length -= 3;
        memmove(head, head + 3, *length);
    }
}

/* The first `length` bytes are there already. */
static enum ss_status read_head(struct ss_import_file *file, char *head, size_t length,
                                struct ss_error *err)
{
    size_t got = 1;
    while (length < SS_IMPORT_HEAD_BYTES && got > 0) {
        SS_TRY(ss_import_read(file, head + length, SS_IMPORT_HEAD_BYTES - length, &got, err));
        length += got;
    }
    skip_byte_order_mark(head, &length);
    file->head = head;
    file->head_length = length;
    return SS_OK;
}

/* --- what is not a regular file
 * -------------------------------------------------------------------
 */

enum { WRITER_WAIT_MS = 1000, WRITER_POLL_MS = 10 };

/* Without a byte or a writer, a pipe would block for ever. A shell may start both programs of one
 * at the same time: the writer has a moment to open it. */
static enum ss_status await_writer(int fd, const char *path, char *head, size_t *length,
                                   struct ss_error *err)
{
    for (int waited_ms = 0; waited_ms < WRITER_WAIT_MS; waited_ms += WRITER_POLL_MS) {
        ssize_t got = read(fd, head, 1);
        if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) {
            *length = got > 0;
            return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) == 0
                       ? SS_OK
                       : ss_fail_errno(err, errno, "cannot read %s", path);
        }
        poll(NULL, 0, WRITER_POLL_MS);
    }
    return ss_fail(err, SS_E_UNSUPPORTED,
                   "%s is a pipe that no program writes to: start that program first, or name a "
                   "file",
                   path);
}

/* Only what ends can be read. In a folder, another kind is one damaged file of several. */
static enum ss_status check_kind(int fd, const char *path, bool is_named, char *head,
                                 size_t *length, struct ss_error *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return ss_fail_errno(err, errno, "cannot read %s", path);
    }
    if (S_ISREG(status.st_mode)) {
        return SS_OK;
    }
    if (S_ISFIFO(status.st_mode) && is_named) {
        return await_writer(fd, path, head, length, err);
    }
    return ss_fail(err, is_named ? SS_E_UNSUPPORTED : SS_E_FORMAT,
                   "%s is %s: name a file, or a pipe", path,
                   S_ISDIR(status.st_mode)    ? "a folder"
                   : S_ISFIFO(status.st_mode) ? "a pipe in a folder"
                   : S_ISSOCK(status.st_mode) ? "a socket"
                                              : "a device");
}

static enum ss_status open_kind(const char *path, int *fd, struct ss_error *err)
{
    struct stat status;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd >= 0) {
        return SS_OK;
    }
    int code = errno;
    return stat(path, &status) == 0 && S_ISSOCK(status.st_mode)
               ? ss_fail(err, SS_E_UNSUPPORTED, "%s is a socket: name a file, or a pipe", path)
               : ss_fail_errno(err, code, "cannot open %s", path);
}

static enum ss_status open_file(const char *path, bool is_named, char *head,
                                struct ss_import_file *file, struct ss_error *err)
{
    size_t length = 0;
    *file = (struct ss_import_file){.path = path, .fd = -1};
    SS_TRY(open_kind(path, &file->fd, err));
    SS_TRY(check_kind(file->fd, path, is_named, head, &length, err));
    posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return read_head(file, head, length, err);
}

static void close_file(struct ss_import_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
}

static enum ss_status load_with_row(struct ss_model *model, const struct ss_import_file *file,
                                    bool is_named, const struct ss_model_load *load,
                                    struct ss_error *err)
{
    if (file->head_length == 0 && !is_named) {
        return ss_fail(err, SS_E_FORMAT, "%s is empty", file->path);
    }
    const struct ss_importer *row = select_row(file, is_named, err);
    if (row == NULL) {
        return SS_E_FORMAT;
    }
    if (row->needs_file && file->archive != NULL) {
        return ss_fail(err, SS_E_FORMAT, "%s cannot be read out of an archive: unpack it",
                       file->path);
    }
    if (file->budget != NULL && row->memory_per_byte > 0) {
        file->budget->memory_per_byte = row->memory_per_byte;
    }
    enum ss_status status = row->load(model, file, load, err);
    bool is_refused = file->budget != NULL && file->budget->refusal.status != SS_OK;
    /* Formats that keep what they read before an error succeed with it. */
    return status == SS_OK || is_refused ? ss_input_budget_finish(file->budget, err) : status;
}

/* --- archives --------------------------------------------------------------------------------- */

/* The members of an archive that is being loaded. */
struct members {
    struct ss_model *model;
    const struct ss_model_load *load;
    const char *path;
    struct ss_archive *archive;
    struct ss_input_budget *budget;
    char *head;
    size_t loaded, unread;
    struct ss_error first_error; /* of a member that no row loads */
};

static enum ss_status load_member(struct members *members, const char *name, struct ss_error *err)
{
    struct ss_model *model = members->model;
    size_t inputs = model->inputs.count, readings = model->clock_readings.count;
    struct ss_strbuf path;
    struct ss_error local = {0};
    ss_strbuf_init(&path, 65536);
    ss_strbuf_append_format(&path, "%s%s%s", members->path, name[0] != '\0' ? ":" : "", name);
    struct ss_import_file file = {
        .path = path.data, .fd = -1, .archive = members->archive, .budget = members->budget};
    enum ss_status status = read_head(&file, members->head, 0, &local);
    status = status == SS_OK ? load_with_row(model, &file, name[0] == '\0', members->load, &local)
                             : status;
    ss_strbuf_fini(&path);
    members->loaded += status == SS_OK;
    if (status == SS_E_FORMAT) {
        model->inputs.count = inputs;
        model->clock_readings.count = readings;
        members->unread++;
        if (members->first_error.message[0] == '\0') {
            members->first_error = local;
        }
        return SS_OK;
    }
    return status == SS_OK ? SS_OK : ss_fail(err, status, "%s", local.message);
}

static enum ss_status load_members(struct members *members, struct ss_error *err)
{
    const char *name = NULL;
    SS_TRY(ss_archive_open(members->path, &members->archive, err));
    ss_archive_charge(members->archive, members->budget);
    for (;;) {
        struct ss_error damage;
        enum ss_status status = ss_archive_next(members->archive, &name, &damage);
        if (status != SS_OK) { /* what was loaded before the damage counts */
            return members->loaded > 0 && status != SS_E_LIMIT
                       ? SS_OK
                       : ss_fail(err, status, "%s", damage.message);
        }
        if (name == NULL) {
            break;
        }
        SS_TRY(load_member(members, name, err));
    }
    if (members->loaded == 0 && members->unread > 1) {
        return ss_fail(err, SS_E_FORMAT, "none of the %zu files in it is a recording: %s",
                       members->unread, members->first_error.message);
    }
    if (members->loaded == 0) {
        return ss_fail(err, SS_E_FORMAT, "%s",
                       members->first_error.message[0] != '\0' ? members->first_error.message
                                                               : "the archive is empty");
    }
    return SS_OK;
}

static enum ss_status load_archive(struct ss_model *model, const char *path,
                                   const struct ss_model_load *load, struct ss_input_budget *budget,
                                   struct ss_error *err)
{
    if (budget->file_bytes == 0) {
        return ss_fail(err, SS_E_UNSUPPORTED,
                       "%s is compressed and a pipe: unpack it on the way (zcat), or name the file",
                       path);
    }
    struct members members = {.model = model,
                              .load = load,
                              .path = path,
                              .budget = budget,
                              .head = ss_alloc(SS_IMPORT_HEAD_BYTES)};
    enum ss_status status = load_members(&members, err);
    ss_archive_close(members.archive);
    ss_free(members.head);
    return status;
}

/* --- files ------------------------------------------------------------------------------------ */

static void init_budget(struct ss_input_budget *budget, const struct ss_import_file *file,
                        const struct ss_model_load *load)
{
    ss_input_budget_init(budget, file->path, file->fd);
    budget->is_requested = load->max_memory_bytes > 0;
    budget->most_total_bytes = budget->is_requested ? load->max_memory_bytes : load->machine_bytes;
    budget->read_bytes = file->head_length;
}

enum ss_status ss_import_file(struct ss_model *model, const char *path, bool is_named,
                              const struct ss_model_load *load, struct ss_error *err)
{
    struct ss_import_file file;
    struct ss_input_budget budget;
    char *head = ss_alloc(SS_IMPORT_HEAD_BYTES);
    enum ss_status status = open_file(path, is_named, head, &file, err);
    bool is_archive = status == SS_OK && ss_archive_is(file.head, file.head_length);
    if (status == SS_OK) {
        init_budget(&budget, &file, load);
        file.budget = &budget;
        status = is_archive ? load_archive(model, path, load, &budget, err)
                            : load_with_row(model, &file, is_named, load, err);
    }
    close_file(&file);
    ss_free(head);
    return status;
}

/* To open a pipe and close it again takes its reader from the program that writes to it. */
static bool is_regular(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool ss_import_is_archive(const char *path)
{
    if (!is_regular(path)) {
        return false;
    }
    struct ss_import_file file;
    struct ss_error ignored;
    char *head = ss_alloc(SS_IMPORT_HEAD_BYTES);
    bool is_archive = open_file(path, false, head, &file, &ignored) == SS_OK &&
                      ss_archive_is(head, file.head_length);
    close_file(&file);
    ss_free(head);
    return is_archive;
}

/* Of the first member that a row loads. */
static const struct ss_importer *row_of_archive(const char *path, char *head)
{
    struct ss_error ignored;
    struct ss_archive *archive = NULL;
    const struct ss_importer *row = NULL;
    const char *name = NULL;
    if (ss_archive_open(path, &archive, &ignored) != SS_OK) {
        return NULL;
    }
    while (row == NULL && ss_archive_next(archive, &name, &ignored) == SS_OK && name != NULL) {
        struct ss_import_file member = {.path = path, .fd = -1, .archive = archive};
        if (read_head(&member, head, 0, &ignored) == SS_OK) {
            row = select_row(&member, false, &ignored);
        }
    }
    ss_archive_close(archive);
    return row;
}

const struct ss_importer *ss_importer_of_file(const char *path)
{
    if (!is_regular(path)) {
        return NULL;
    }
    struct ss_import_file file;
    struct ss_error ignored;
    const struct ss_importer *row = NULL;
    char *head = ss_alloc(SS_IMPORT_HEAD_BYTES);
    if (open_file(path, false, head, &file, &ignored) == SS_OK) {
        row = ss_archive_is(head, file.head_length) ? row_of_archive(path, head)
                                                    : select_row(&file, false, &ignored);
    }
    close_file(&file);
    ss_free(head);
    return row;
}
