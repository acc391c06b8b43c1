/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/input_budget.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

/* Text that tools write becomes 5 to 40 times smaller, and needs about as much memory as it has
 * bytes; a file of few bytes costs little whatever it holds. */
enum { MEMORY_PER_BYTE = 128, READ_PER_BYTE = 200 };
static const uint64_t free_memory_bytes = UINT64_C(256) << 20;
static const uint64_t free_read_bytes = UINT64_C(1) << 30;
static const uint64_t free_hole_bytes = UINT64_C(64) << 20; /* of a file that has holes */

/* Files have few holes, or are made of them: the rest counts as stored. */
static uint64_t stored_in(int fd, uint64_t file_bytes)
{
    enum { MOST_HOLES = 4096 };
    uint64_t holes = 0;
    off_t end = (off_t)file_bytes;
    off_t position = lseek(fd, 0, SEEK_CUR);
    off_t hole = lseek(fd, 0, SEEK_HOLE);
    for (int i = 0; i < MOST_HOLES && hole >= 0 && hole < end; i++) {
        off_t data = lseek(fd, hole, SEEK_DATA);
        data = data >= 0 && data < end ? data : end;
        holes += (uint64_t)(data - hole);
        hole = data < end ? lseek(fd, data, SEEK_HOLE) : end;
    }
    if (position >= 0) {
        lseek(fd, position, SEEK_SET);
    }
    return file_bytes - holes;
}

void ss_input_budget_init(struct ss_input_budget *budget, const char *path, int fd)
{
    struct stat status;
    *budget = (struct ss_input_budget){
        .path = path, .memory_per_byte = MEMORY_PER_BYTE, .memory_before = ss_alloc_thread_bytes()};
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        budget->file_bytes = (uint64_t)status.st_size;
        budget->stored_bytes = stored_in(fd, budget->file_bytes);
    }
}

/* The first refusal; formats that end where reading fails see it once, and go on to their end. */
static enum ss_status refused(struct ss_input_budget *budget, struct ss_error *err)
{
    return ss_fail(err, budget->refusal.status, "%s", budget->refusal.message);
}

static enum ss_status check_own(struct ss_input_budget *budget, struct ss_error *err)
{
    uint64_t bytes = budget->file_bytes > 0 ? budget->stored_bytes : budget->read_bytes;
    uint64_t most = free_memory_bytes + budget->memory_per_byte * bytes;
    int64_t used = ss_alloc_thread_bytes() - budget->memory_before;
    if (used <= 0 || (uint64_t)used <= most) {
        return SS_OK;
    }
    ss_fail(&budget->refusal, SS_E_LIMIT,
            "%s has %" PRIu64 " bytes, but needs more than %" PRIu64
            " MiB of memory: its content is not a recording's; --max-memory SIZE allows more",
            budget->path, bytes, most >> 20);
    return refused(budget, err);
}

static enum ss_status check_total(struct ss_input_budget *budget, struct ss_error *err)
{
    int64_t used = ss_alloc_process_bytes();
    if (budget->most_total_bytes == 0 || used <= 0 || (uint64_t)used <= budget->most_total_bytes) {
        return SS_OK;
    }
    ss_fail(&budget->refusal, SS_E_LIMIT,
            "%s needs more than %" PRIu64
            " MiB of memory (%s): load fewer files or less time, or allow more with "
            "--max-memory SIZE",
            budget->path, budget->most_total_bytes >> 20,
            budget->is_requested ? "--max-memory" : "what this machine has");
    return refused(budget, err);
}

enum ss_status ss_input_budget_check(struct ss_input_budget *budget, struct ss_error *err)
{
    if (budget == NULL) {
        return SS_OK;
    }
    if (budget->refusal.status != SS_OK) {
        return refused(budget, err);
    }
    if (!budget->is_requested) {
        SS_TRY(check_own(budget, err));
    }
    return check_total(budget, err);
}

enum ss_status ss_input_budget_finish(struct ss_input_budget *budget, struct ss_error *err)
{
    return budget == NULL                    ? SS_OK
           : budget->refusal.status != SS_OK ? refused(budget, err)
                                             : check_total(budget, err);
}

enum ss_status ss_input_budget_read(struct ss_input_budget *budget, size_t bytes,
                                    struct ss_error *err)
{
    if (budget == NULL) {
        return SS_OK;
    }
    budget->read_bytes += bytes;
    bool has_holes = budget->stored_bytes < budget->file_bytes;
    uint64_t most =
        (has_holes ? free_hole_bytes : free_read_bytes) + READ_PER_BYTE * budget->stored_bytes;
    if (budget->refusal.status == SS_OK && budget->file_bytes > 0 && budget->read_bytes > most) {
        ss_fail(&budget->refusal, SS_E_LIMIT,
                "%s stores %" PRIu64 " bytes, but stands for more than %" PRIu64
                " MiB: it is damaged or no recording; if it is one, copy or unpack it yourself",
                budget->path, budget->stored_bytes, most >> 20);
    }
    return ss_input_budget_check(budget, err);
}

enum ss_status ss_input_budget_rows(struct ss_input_budget *budget, uint64_t rows,
                                    struct ss_error *err)
{
    if (budget == NULL) {
        return SS_OK;
    }
    budget->rows += rows;
    if (budget->refusal.status == SS_OK && budget->rows > budget->read_bytes) {
        ss_fail(&budget->refusal, SS_E_LIMIT,
                "%s: its %" PRIu64
                " bytes name the same values again and again: it is not a recording",
                budget->path, budget->read_bytes);
    }
    return ss_input_budget_check(budget, err);
}
