/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/naming.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"

static void append_time(struct ss_strbuf *out)
{
    char text[32];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
    ss_strbuf_append_text(out, text);
}

static enum ss_status append_variable(const char **at, struct ss_strbuf *out, struct ss_error *err)
{
    const char *open_at = *at + 1;
    const char *close_at = strchr(open_at, '}');
    if (*open_at != '{' || close_at == NULL) {
        return ss_fail(err, SS_E_USAGE, "%%q in an output name needs {VARIABLE} after it");
    }
    char *name = ss_strndup(open_at + 1, (size_t)(close_at - open_at - 1));
    const char *value = getenv(name);
    enum ss_status status = SS_OK;
    if (value == NULL) {
        status = ss_fail(err, SS_E_USAGE,
                         "%%q{%s} in the output name: that environment variable is not set", name);
    } else {
        ss_strbuf_append_text(out, value);
    }
    ss_free(name);
    *at = close_at;
    return status;
}

static enum ss_status append_number(char letter, const struct ss_rank_facts *facts,
                                    struct ss_strbuf *out, struct ss_error *err)
{
    static const struct {
        char letter;
        enum ss_rank_fact fact;
        uint32_t alone; /* without a launcher */
        const char *what;
    } rows[] = {{'r', SS_RANK, 0, "rank"},
                {'R', SS_WORLD_SIZE, 1, "number of ranks"},
                {'l', SS_LOCAL_RANK, 0, "local rank"},
                {'n', SS_NODE, 0, "number of the node"},
                {'a', SS_RESTART, 0, "restart"}};
    size_t i = 0;
    while (rows[i].letter != letter) {
        i++;
    }
    bool has = facts->has[rows[i].fact];
    if (!has && facts->has[SS_RANK] && rows[i].fact != SS_RESTART) {
        return ss_fail(
            err, SS_E_USAGE,
            "%%%c in the output name: %s does not say the %s; use %%r (rank), %%h (host) "
            "or %%q{VARIABLE}",
            letter, facts->is_explicit ? "--rank" : ss_launcher_name(facts->launcher),
            rows[i].what);
    }
    ss_strbuf_append_format(out, "%u", has ? facts->numbers[rows[i].fact] : rows[i].alone);
    return SS_OK;
}

static enum ss_status append_job(const struct ss_rank_facts *facts, struct ss_strbuf *out,
                                 struct ss_error *err)
{
    if (facts->job[0] == '\0') {
        return ss_fail(err, SS_E_USAGE,
                       "%%j in the output name: this is not a job of Slurm, PBS or "
                       "LSF; leave it out, or use %%t (time)");
    }
    ss_strbuf_append_text(out, facts->job);
    return SS_OK;
}

/* Long: one case for each letter. */
enum ss_status ss_name_expand(const char *template, pid_t pid, const struct ss_rank_facts *facts,
                              struct ss_strbuf *out, struct ss_error *err)
{
    for (const char *at = template; *at != '\0'; at++) {
        if (*at != '%') {
            ss_strbuf_append_char(out, *at);
            continue;
        }
        at++;
        char host[256] = "localhost";
        switch (*at) {
        case '%':
            ss_strbuf_append_char(out, '%');
            break;
        case 'p':
            ss_strbuf_append_format(out, "%d", (int)pid);
            break;
        case 'h':
            gethostname(host, sizeof host - 1);
            ss_strbuf_append_text(out, host);
            break;
        case 't':
            append_time(out);
            break;
        case 'q':
            SS_TRY(append_variable(&at, out, err));
            break;
        case 'j':
            SS_TRY(append_job(facts, out, err));
            break;
        case 'r':
        case 'R':
        case 'l':
        case 'n':
        case 'a':
            SS_TRY(append_number(*at, facts, out, err));
            break;
        default:
            return ss_fail(err, SS_E_USAGE,
                           "\"%%%c\" in the output name is not known: use %%r (rank), %%R (ranks), "
                           "%%l (local rank), %%n (node), %%j (job), %%a (restart), %%p (pid), %%h "
                           "(host), %%t (time), %%q{VARIABLE} or %%%% for a percent sign",
                           *at != '\0' ? *at : ' ');
        }
    }
    return SS_OK;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool is_python(const char *name)
{
    return strncmp(name, "python", 6) == 0 || strncmp(name, "pypy", 4) == 0;
}

/* The script or module that a python command line runs; NULL: neither (-c, interactive). */
static const char *python_script(char *const *program)
{
    for (int i = 1; program[i] != NULL; i++) {
        const char *word = program[i];
        if (strcmp(word, "-m") == 0) {
            return program[i + 1];
        }
        if (strcmp(word, "-c") == 0) {
            return NULL;
        }
        if (strcmp(word, "-W") == 0 || strcmp(word, "-X") == 0) {
            i += program[i + 1] != NULL;
            continue;
        }
        if (word[0] != '-') {
            return base_name(word);
        }
    }
    return NULL;
}

enum ss_launcher ss_name_launcher(char *const *program)
{
    const char *name = program != NULL ? base_name(program[0]) : "";
    if (is_python(name)) { /* -m MODULE, or the launcher's script */
        name = python_script(program);
    }
    return name != NULL ? ss_launcher_of_program(name) : SS_LAUNCHER_JOB;
}

void ss_name_program(char *const *program, struct ss_strbuf *out)
{
    const char *name = program != NULL ? base_name(program[0]) : "attached";
    if (program != NULL && is_python(name)) {
        const char *script = python_script(program);
        name = script != NULL ? script : name;
    }
    size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".py") == 0) {
        length -= 3;
    }
    for (size_t i = 0; i < length && i < 100; i++) {
        unsigned char c = (unsigned char)name[i];
        bool plain = isalnum(c) || c == '.' || c == '_' || c == '-' || c >= 0x80;
        ss_strbuf_append_char(out, plain ? name[i] : '_');
    }
}

void ss_name_default(char *const *program, pid_t pid, struct ss_strbuf *out)
{
    ss_name_program(program, out);
    ss_strbuf_append_char(out, '-');
    append_time(out);
    ss_strbuf_append_format(out, "-%d", (int)pid);
}

/* Where the ending begins; a name that begins with its only dot has none. */
static size_t stem_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot != NULL && dot != name ? (size_t)(dot - path) : strlen(path);
}

void ss_name_append_for_ranks(const char *path, struct ss_strbuf *out)
{
    int stem = (int)stem_of(path);
    ss_strbuf_append_format(out,
                            "give all ranks one folder, -o %.*s.stepscope, or each a file, -o "
                            "%.*s.%%r%s",
                            stem, path, stem, path, path + stem);
}

char *ss_name_native_beside(const char *path)
{
    static const char native[] = ".pftrace";
    size_t stem = stem_of(path);
    stem = strcmp(path + stem, native) != 0 ? stem : strlen(path);
    struct ss_strbuf text;
    ss_strbuf_init(&text, 65536);
    ss_strbuf_append(&text, path, stem);
    ss_strbuf_append_text(&text, native);
    char *taken = ss_strbuf_take(&text);
    ss_strbuf_fini(&text);
    return taken;
}

enum ss_status ss_name_make_folders(const char *path, struct ss_error *err)
{
    char *folder = ss_strdup(path);
    enum ss_status status = SS_OK;
    for (char *at = folder + 1; *at != '\0' && status == SS_OK; at++) {
        if (*at != '/') {
            continue;
        }
        *at = '\0';
        struct stat info;
        if (mkdir(folder, 0777) != 0 && (errno != EEXIST || stat(folder, &info) != 0)) {
            status = ss_fail_errno(err, errno, "cannot create the folder %s", folder);
        }
        *at = '/';
    }
    ss_free(folder);
    return status;
}

/* Uses O_TMPFILE where the file system supports it, so that no name appears even for a moment. -1
 * with errno. */
static int open_to_check(const char *path)
{
    const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
    int fd = open(path, flags);
    if (fd >= 0 || errno != ENOENT) {
        return fd;
    }
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? ss_strdup(".") : ss_strndup(path, (size_t)(slash - path) + 1);
    fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    ss_free(folder);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT)) {
        fd = open(path, flags | O_CREAT, 0600);
        if (fd >= 0) {
            unlink(path);
        }
    }
    return fd;
}

enum ss_status ss_name_check_writable(const char *path, struct ss_error *err)
{
    if (path[0] == '\0' || path[strlen(path) - 1] == '/') {
        return ss_fail(err, SS_E_USAGE, "the output name \"%s\" has no file in it", path);
    }
    SS_TRY(ss_name_make_folders(path, err));
    int fd = open_to_check(path);
    if (fd < 0 && errno == ELOOP) {
        return ss_fail(err, SS_E_PERMISSION,
                       "%s is a symbolic link; name the file it stands for, or remove the link",
                       path);
    }
    if (fd < 0) {
        return ss_fail_errno(err, errno, "cannot write %s", path);
    }
    struct stat info;
    bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    close(fd);
    if (!regular) {
        return ss_fail(err, SS_E_UNSUPPORTED, "%s is not a regular file; a recording needs one",
                       path);
    }
    return SS_OK;
}
