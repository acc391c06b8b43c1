/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/git_commit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "platform/procfs.h"

enum { SHA1_DIGITS = 40, SHA256_DIGITS = 64, MAX_LINE_BYTES = 4096, MAX_REFERENCES = 1 << 20 };

static const char digits[] = "0123456789abcdef";

/* Whether the line begins with a commit; copies it. */
static bool take_commit(const char *line, char commit[SS_GIT_COMMIT_BYTES])
{
    size_t length = strspn(line, digits);
    if (length != SHA1_DIGITS && length != SHA256_DIGITS) {
        return false;
    }
    memcpy(commit, line, length);
    commit[length] = '\0';
    return true;
}

/* The first line of a regular file, without its end; false: there is none, or it is too long. */
static bool read_line(const char *folder, const char *name, char line[MAX_LINE_BYTES])
{
    char path[PATH_MAX];
    struct stat status;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path || stat(path, &status) != 0 ||
        !S_ISREG(status.st_mode) || ss_procfs_read(path, line, MAX_LINE_BYTES) <= 0) {
        return false;
    }
    size_t end = strcspn(line, "\n");
    bool is_whole = end < MAX_LINE_BYTES - 1;
    line[end] = '\0';
    return is_whole;
}

/* Lines "COMMIT NAME" of packed-refs. */
static bool find_packed(const char *folder, const char *name, char commit[SS_GIT_COMMIT_BYTES])
{
    char path[PATH_MAX], line[MAX_LINE_BYTES];
    struct stat status;
    bool is_found = false;
    int length = snprintf(path, sizeof path, "%s/packed-refs", folder);
    bool fits = length >= 0 && (size_t)length < sizeof path;
    FILE *file =
        fits && stat(path, &status) == 0 && S_ISREG(status.st_mode) ? fopen(path, "re") : NULL;
    for (int i = 0; file != NULL && !is_found && i < MAX_REFERENCES; i++) {
        if (fgets(line, sizeof line, file) == NULL) {
            break;
        }
        line[strcspn(line, "\n")] = '\0';
        const char *blank = strchr(line, ' ');
        is_found = blank != NULL && strcmp(blank + 1, name) == 0 && take_commit(line, commit);
    }
    if (file != NULL) {
        fclose(file);
    }
    return is_found;
}

/* A name below refs/ that stays there. */
static bool is_reference(const char *name)
{
    return strncmp(name, "refs/", strlen("refs/")) == 0 && strstr(name, "..") == NULL;
}

/* `folder` has HEAD; branches are in `common`, which is another one for linked trees. */
static bool read_head(const char *folder, const char *common, char commit[SS_GIT_COMMIT_BYTES])
{
    static const char symbolic[] = "ref: ";
    char head[MAX_LINE_BYTES], line[MAX_LINE_BYTES];
    if (!read_line(folder, "HEAD", head)) {
        return false;
    }
    if (strncmp(head, symbolic, strlen(symbolic)) != 0) {
        return take_commit(head, commit);
    }
    const char *name = head + strlen(symbolic);
    return is_reference(name) && ((read_line(common, name, line) && take_commit(line, commit)) ||
                                  find_packed(common, name, commit));
}

/* `path`, if it is absolute, else relative to `folder`. false: it is too long. */
static bool join(const char *folder, const char *path, char joined[PATH_MAX])
{
    int length = path[0] == '/' ? snprintf(joined, PATH_MAX, "%s", path)
                                : snprintf(joined, PATH_MAX, "%s/%s", folder, path);
    return length >= 0 && length < PATH_MAX;
}

/* The file .git of a linked tree names its folder, whose file `commondir` names the shared folder.
 */
static bool read_linked(const char *folder, char commit[SS_GIT_COMMIT_BYTES])
{
    static const char pointer[] = "gitdir: ";
    char line[MAX_LINE_BYTES], own[PATH_MAX], common[PATH_MAX];
    if (!read_line(folder, ".git", line) || strncmp(line, pointer, strlen(pointer)) != 0 ||
        !join(folder, line + strlen(pointer), own)) {
        return false;
    }
    bool is_shared = read_line(own, "commondir", line) && join(own, line, common);
    return read_head(own, is_shared ? common : own, commit);
}

bool ss_git_commit_find(const char *folder, char commit[SS_GIT_COMMIT_BYTES])
{
    char at[PATH_MAX], git[PATH_MAX + sizeof "/.git"];
    struct stat status;
    if (realpath(folder, at) == NULL) {
        return false;
    }
    for (;;) {
        snprintf(git, sizeof git, "%s/.git", strcmp(at, "/") == 0 ? "" : at);
        if (stat(git, &status) == 0) {
            return S_ISDIR(status.st_mode) ? read_head(git, git, commit) : read_linked(at, commit);
        }
        char *slash = strrchr(at, '/');
        if (slash == NULL || at[1] == '\0') {
            return false;
        }
        slash[slash == at ? 1 : 0] = '\0';
    }
}
