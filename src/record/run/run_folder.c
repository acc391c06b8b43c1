/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/output_target.h"
#include "base/utf8.h"
#include "base/version.h"
#include "platform/procfs.h"
#include "record/run/naming.h"
#include "record/run/run_folder_inside.h"

enum { MOST_ANCESTORS = 16, PER_FOLDER = 1000, SHOWN_OF_UUID = 8, MOST_PATH_BYTES = 65536 };

/* --- identity --------------------------------------------------------------------------------- */

static bool is_of_one_node(const struct ss_rank_facts *facts)
{
    return facts->has[SS_WORLD_SIZE] && facts->has[SS_LOCAL_WORLD_SIZE] &&
           facts->numbers[SS_WORLD_SIZE] == facts->numbers[SS_LOCAL_WORLD_SIZE];
}

/* The nearest ancestor that does not have our rank: it gave it to us. 0: not found. */
static pid_t find_launcher(const struct ss_rank_facts *facts, struct ss_procfs_stat *stat)
{
    pid_t pid = getppid();
    for (int i = 0; i < MOST_ANCESTORS && pid > 0 && ss_procfs_stat(pid, 0, stat); i++) {
        struct ss_rank_facts its;
        size_t length;
        char *block = ss_procfs_environment_block(pid, &length);
        ss_rank_facts_of_environment(block, length, &its);
        ss_free(block);
        if (length > 0 &&
            (its.variable != facts->variable || its.numbers[SS_RANK] != facts->numbers[SS_RANK])) {
            return pid;
        }
        pid = stat->parent_pid;
    }
    return 0;
}

void ss_run_id(const struct ss_rank_facts *facts, struct ss_strbuf *text)
{
    struct ss_procfs_stat stat;
    pid_t launcher;
    ss_strbuf_append_text(text, facts->run_id);
    if (text->length == 0 && is_of_one_node(facts) && facts->variable != SS_ENV_COUNT &&
        (launcher = find_launcher(facts, &stat)) != 0) {
        ss_strbuf_append_format(text, "%d-%llu", (int)launcher,
                                (unsigned long long)stat.start_time_ticks);
    }
}

static bool is_uuid(const char *text)
{
    return strlen(text) == 36 && strspn(text, "0123456789abcdefABCDEF-") == 36 && text[8] == '-';
}

void ss_run_name(char *const *program, const struct ss_rank_facts *facts, struct ss_strbuf *out)
{
    struct ss_strbuf id;
    ss_strbuf_init(&id, SS_RUN_ID_BYTES);
    ss_run_id(facts, &id);
    ss_name_program(program, out);
    size_t length = is_uuid(id.data) ? SHOWN_OF_UUID : id.length;
    if (length > 0) {
        ss_strbuf_append_char(out, '-');
    }
    for (size_t i = 0; i < length; i++) {
        bool is_plain = strchr("/\\ \t\n{}%*?\"'$&;<>|()`!#~", id.data[i]) == NULL;
        ss_strbuf_append_char(out, is_plain ? id.data[i] : '_');
    }
    ss_strbuf_fini(&id);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Without an ending. */
static void put_member(const struct ss_run_folder *run, uint32_t number, struct ss_strbuf *out)
{
    const struct ss_rank_facts *facts = &run->facts;
    ss_strbuf_append_format(out, "%s/%s/", run->folder, run->is_of_nodes ? "nodes" : "ranks");
    if (run->is_of_nodes && !facts->has[SS_RANK]) { /* started on each node by hand */
        char host[256] = "localhost";
        gethostname(host, sizeof host - 1);
        ss_strbuf_append_text(out, host);
        return;
    }
    if (facts->has[SS_WORLD_SIZE] && facts->numbers[SS_WORLD_SIZE] > PER_FOLDER) {
        ss_strbuf_append_format(out, "%03u/", number / PER_FOLDER);
    }
    ss_strbuf_append_format(out, "%c%05u", run->is_of_nodes ? 'n' : 'r', number);
    if (facts->has[SS_RESTART] && facts->numbers[SS_RESTART] > 0) {
        ss_strbuf_append_format(out, "-a%u", facts->numbers[SS_RESTART]);
    }
}

char *ss_run_folder_path(const struct ss_run_folder *run, uint32_t number, const char *ending)
{
    struct ss_strbuf path;
    ss_strbuf_init(&path, MOST_PATH_BYTES);
    put_member(run, number, &path);
    ss_strbuf_append_text(&path, ending);
    char *taken = ss_strbuf_take(&path);
    ss_strbuf_fini(&path);
    return taken;
}

void ss_run_folder_init(struct ss_run_folder *run, const char *folder, char *const *program,
                        const struct ss_rank_facts *facts, const char *ranks,
                        const struct ss_rank_selection *selection)
{
    *run = (struct ss_run_folder){.folder = ss_strdup(folder),
                                  .is_of_nodes = ss_name_launcher(program) != SS_LAUNCHER_JOB,
                                  .facts = *facts,
                                  .ranks = ranks,
                                  .selection = selection};
    run->trace = ss_run_folder_path(run, facts->numbers[SS_RANK], ".pftrace");
    run->piece = ss_run_folder_path(run, facts->numbers[SS_RANK], ".json");
}

void ss_run_folder_fini(struct ss_run_folder *run)
{
    ss_free(run->folder);
    ss_free(run->trace);
    ss_free(run->piece);
    *run = (struct ss_run_folder){0};
}

/* --- files ------------------------------------------------------------------------------------ */

static json_t *text_json(const char *text)
{
    struct ss_strbuf valid;
    ss_strbuf_init(&valid, 3 * strlen(text) + 1);
    ss_utf8_append_valid(&valid, text, strlen(text));
    json_t *value = json_stringn(valid.data, valid.length);
    ss_strbuf_fini(&valid);
    return value;
}

static bool has_content(const char *path, const char *text, size_t length)
{
    char known[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t got = fd >= 0 ? read(fd, known, sizeof known) : -1;
    if (fd >= 0) {
        close(fd);
    }
    return got >= 0 && (size_t)got == length && memcmp(known, text, length) == 0;
}

static enum ss_status write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, text, length);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return SS_E_IO;
        }
        text += written;
        length -= (size_t)written;
    }
    return SS_OK;
}

/* Replaces the file in one step: a reader finds the old one or the new one. */
static enum ss_status put_file(const char *path, const char *text, struct ss_error *err)
{
    struct ss_output_target place;
    char host[256] = "localhost", name[640];
    if (has_content(path, text, strlen(text))) {
        return SS_OK;
    }
    SS_TRY(ss_output_target_open(path, SS_OUTPUT_KEEP_LINK, &place, err));
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, ".%s.%s-%d", place.name, host, (int)getpid());
    enum ss_status status = SS_OK;
    unlinkat(place.folder_fd, name, 0); /* of a process with our pid that was killed */
    int fd =
        openat(place.folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        status = ss_fail_errno(err, errno, "cannot write %s", path);
    } else if (write_all(fd, text, strlen(text)) != SS_OK ||
               renameat(place.folder_fd, name, place.folder_fd, place.name) != 0) {
        status = ss_fail_errno(err, errno, "cannot write %s", path);
        unlinkat(place.folder_fd, name, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    ss_output_target_close(&place);
    return status;
}

static enum ss_status put_json(const char *path, json_t *document, struct ss_error *err)
{
    char *text = json_dumps(document, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_REAL_PRECISION(9));
    json_decref(document);
    if (text == NULL) {
        return ss_fail(err, SS_E_NOMEM, "cannot write %s", path);
    }
    enum ss_status status = put_file(path, text, err);
    ss_free(text);
    return status;
}

/* The rank that was to write it may have been killed. */
static bool has_manifest(const struct ss_run_folder *run)
{
    struct ss_strbuf path;
    ss_strbuf_init(&path, MOST_PATH_BYTES);
    ss_strbuf_append_format(&path, "%s/run.json", run->folder);
    bool has = access(path.data, F_OK) == 0;
    ss_strbuf_fini(&path);
    return has;
}

/* One rank of each node writes the manifest, so that a thousand ranks are not a burden for the file
 * system; of selected ranks, which may be none of these, each does. */
static bool writes_manifest(const struct ss_run_folder *run)
{
    return run->selection->count > 0 || !run->facts.has[SS_LOCAL_RANK] ||
           run->facts.numbers[SS_LOCAL_RANK] == 0;
}

/* Every recorder of the run writes the same: nothing in it is of one rank. */
static enum ss_status put_manifest(const struct ss_run_folder *run, struct ss_error *err)
{
    struct ss_strbuf path, id;
    const struct ss_rank_facts *facts = &run->facts;
    bool has_number = facts->has[SS_RANK];
    ss_strbuf_init(&path, MOST_PATH_BYTES);
    ss_strbuf_init(&id, SS_RUN_ID_BYTES);
    ss_strbuf_append_format(&path, "%s/run.json", run->folder);
    ss_run_id(facts, &id);
    uint32_t size = facts->has[SS_WORLD_SIZE] ? facts->numbers[SS_WORLD_SIZE] : has_number ? 0 : 1;
    json_t *document = json_pack(
        "{s:i,s:o,s:s,s:s,s:I,s:s,s:I,s:s}", "schema", SS_RUN_SCHEMA, "run_id", text_json(id.data),
        "launcher", facts->is_explicit ? "--rank" : ss_launcher_name(facts->launcher), "files",
        run->is_of_nodes ? "nodes" : "ranks", "world_size",
        (json_int_t)(run->is_of_nodes && !has_number ? 0 : size), "ranks", run->ranks, "max_ranks",
        (json_int_t)run->selection->most, "stepscope", SS_VERSION);
    enum ss_status status = put_json(path.data, document, err);
    ss_strbuf_fini(&id);
    ss_strbuf_fini(&path);
    return status;
}

enum ss_status ss_run_folder_create(const struct ss_run_folder *run, struct ss_error *err)
{
    SS_TRY(ss_output_folder_check(run->folder, err));
    SS_TRY(ss_name_check_writable(run->trace, err));
    unlink(run->piece); /* of an earlier run, or of an earlier try of this one */
    return writes_manifest(run) ? put_manifest(run, err) : SS_OK;
}

static void put_end(json_t *document, const struct ss_record_result *result)
{
    const char *end = result->recorder_died             ? "recorder died"
                      : result->end == SS_RECORD_FAILED ? "failed"
                                                        : "complete";
    json_object_set_new(document, "state", json_string(end));
    if (result->program_ended && WIFEXITED(result->program_status)) {
        json_object_set_new(document, "exit_status",
                            json_integer(WEXITSTATUS(result->program_status)));
    } else if (result->program_ended && WIFSIGNALED(result->program_status)) {
        json_object_set_new(document, "signal",
                            json_string(strsignal(WTERMSIG(result->program_status))));
    }
}

enum ss_status ss_run_folder_finish(const struct ss_run_folder *run,
                                    const struct ss_record_result *result, struct ss_error *err)
{
    const struct ss_record_figures *figures = &result->figures;
    struct ss_strbuf id;
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    ss_strbuf_init(&id, SS_RUN_ID_BYTES);
    ss_run_id(&run->facts, &id);
    json_t *document =
        json_pack("{s:i,s:o,s:I,s:o,s:I,s:I,s:I,s:I,s:I,s:f}", "schema", SS_RUN_SCHEMA, "run_id",
                  text_json(id.data), "number", (json_int_t)run->facts.numbers[SS_RANK], "host",
                  text_json(host), "bytes", (json_int_t)figures->bytes_written, "samples",
                  (json_int_t)figures->samples, "lost", (json_int_t)figures->lost, "partial",
                  (json_int_t)figures->partial, "late", (json_int_t)figures->late, "seconds",
                  (double)(figures->end_ns - figures->start_ns) / 1e9);
    ss_strbuf_fini(&id);
    put_end(document, result);
    SS_TRY(put_json(run->piece, document, err));
    return has_manifest(run) ? SS_OK : put_manifest(run, err);
}
