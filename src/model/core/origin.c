/* SPDX-License-Identifier: Apache-2.0 */
#include "model/core/origin.h"

#include <stdlib.h>
#include <string.h>

static const char *const stdlib_modules[] = {
#include "model/core/stdlib_modules.inc"
};

static const char *const package_names[] = {
#include "model/core/package_names.inc"
};

static int compare_view(const void *key, const void *element)
{
    const struct ss_strview *view = key;
    const char *name = *(const char *const *)element;
    size_t length = strlen(name);
    int order = memcmp(view->data, name, view->length < length ? view->length : length);
    return order != 0 ? order : (view->length > length) - (view->length < length);
}

#define IN_TABLE(table, view)                                                                      \
    (bsearch(&(view), table, sizeof table / sizeof *table, sizeof *table, compare_view) != NULL)

static bool ends_with(struct ss_strview text, const char *ending)
{
    size_t length = strlen(ending);
    return text.length >= length && memcmp(text.data + text.length - length, ending, length) == 0;
}

static bool contains(struct ss_strview text, const char *part)
{
    return memmem(text.data, text.length, part, strlen(part)) != NULL;
}

static bool starts_with(struct ss_strview text, const char *start)
{
    size_t length = strlen(start);
    return text.length >= length && memcmp(text.data, start, length) == 0;
}

bool ss_path_is_native(struct ss_strview path)
{
    static const char *const endings[] = {".so", ".c",   ".cc", ".cpp", ".cxx", ".h",   ".hpp",
                                          ".cu", ".cuh", ".rs", ".pyx", ".S",   ".dll", ".dylib"};
    if (path.length == 0 || path.data[0] == '<') {
        return false;
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (ends_with(path, endings[i])) {
            return true;
        }
    }
    /* "libc.so.6", "[vdso]", and executables: "python3.11", "ld-2.31". */
    const char *slash = memrchr(path.data, '/', path.length);
    const char *base = slash != NULL ? slash + 1 : path.data;
    struct ss_strview name = {base, (size_t)(path.data + path.length - base)};
    return contains(name, ".so.") || starts_with(name, "python") ? !ends_with(name, ".py")
                                                                 : starts_with(name, "[");
}

/* Code without a file. Generated code, as of dataclasses, uses "<string>", but so does the user's
 * exec(): only names that cannot be the user's are attributed to others. */
static enum ss_code_origin origin_of_pseudo_file(struct ss_strview path)
{
    static const char *const package_prefixes[] = {
        "<decorator-gen", "<__array_function__", "<attrs generated", "<eval_with_key>",
        "<makefun-gen",   "<boltons.",           "<stepscope "};
    if (starts_with(path, "<frozen ")) {
        return SS_ORIGIN_STDLIB;
    }
    for (size_t i = 0; i < sizeof package_prefixes / sizeof *package_prefixes; i++) {
        if (starts_with(path, package_prefixes[i])) {
            return SS_ORIGIN_PACKAGE;
        }
    }
    return SS_ORIGIN_USER;
}

static bool has_package_folder(struct ss_strview path)
{
    return contains(path, "/site-packages/") || contains(path, "/dist-packages/") ||
           starts_with(path, "site-packages/") || starts_with(path, "dist-packages/") ||
           contains(path, "/stepscope/integrations/"); /* never the user's */
}

/* Whether the path, relative to a library folder, is a module of the standard library:
 * "asyncio/tasks.py" is searched as the package "asyncio/", "queue.py" as the module "queue". */
static bool is_stdlib_module(struct ss_strview path)
{
    const char *slash = memchr(path.data, '/', path.length);
    if (slash != NULL) {
        struct ss_strview package = {path.data, (size_t)(slash + 1 - path.data)};
        return IN_TABLE(stdlib_modules, package);
    }
    if (!ends_with(path, ".py")) {
        return false;
    }
    struct ss_strview module = {path.data, path.length - 3};
    return IN_TABLE(stdlib_modules, module);
}

/* Sets *rest to what follows "/lib/python3.11/", "/lib64/python3.8/", "/python311.zip/" or, in a
 * build tree, "/Lib/". */
static bool after_library_folder(struct ss_strview path, struct ss_strview *rest)
{
    const char *end = path.data + path.length;
    const char *at = path.data;
    while ((at = memmem(at, (size_t)(end - at), "/python", 7)) != NULL) {
        const char *slash = memchr(at + 1, '/', (size_t)(end - at - 1));
        bool in_lib = (at - path.data >= 4 && memcmp(at - 4, "/lib", 4) == 0) ||
                      (at - path.data >= 6 && memcmp(at - 6, "/lib64", 6) == 0);
        bool is_zip = slash != NULL && slash - at > 4 && memcmp(slash - 4, ".zip", 4) == 0;
        if (slash != NULL && (in_lib || is_zip) && at[7] >= '2' && at[7] <= '9') {
            *rest = (struct ss_strview){slash + 1, (size_t)(end - slash - 1)};
            return true;
        }
        at++;
    }
    at = memmem(path.data, path.length, "/Lib/", 5);
    if (at != NULL) {
        *rest = (struct ss_strview){at + 5, (size_t)(end - at - 5)};
        return is_stdlib_module(*rest) || starts_with(*rest, "test/");
    }
    return false;
}

static struct ss_strview after_match(struct ss_strview path, const char *at, size_t length)
{
    const char *end = path.data + path.length;
    return (struct ss_strview){at + length, (size_t)(end - at) - length};
}

bool ss_module_of_path(struct ss_strview path, enum ss_code_origin origin,
                       struct ss_strview *module)
{
    static const char packages[] = "-packages/", python[] = "/python";
    static const char integrations[] = "/stepscope/integrations/"; /* of a source tree */
    const char *at;
    if (origin != SS_ORIGIN_STDLIB) {
        at = memmem(path.data, path.length, packages, sizeof packages - 1);
        if (at != NULL) {
            *module = after_match(path, at, sizeof packages - 1);
            return true;
        }
        at = memmem(path.data, path.length, integrations, sizeof integrations - 1);
        *module = at != NULL ? after_match(path, at, 1) : *module;
        return at != NULL;
    }
    struct ss_strview rest = path;
    while ((at = memmem(rest.data, rest.length, python, sizeof python - 1)) != NULL) {
        rest = after_match(rest, at, sizeof python - 1);
        const char *slash = memchr(rest.data, '/', rest.length);
        if (slash != NULL && rest.data[0] >= '2' && rest.data[0] <= '9') {
            *module = after_match(rest, slash, 1);
            return true;
        }
    }
    at = memmem(path.data, path.length, "/Lib/", 5); /* a build tree */
    *module = at != NULL ? after_match(path, at, 5) : *module;
    return at != NULL;
}

bool ss_module_is(struct ss_strview path, const char *module)
{
    size_t length = strlen(module);
    bool is_whole = length > 3 && strcmp(module + length - 3, ".py") == 0;
    return starts_with(path, module) && (!is_whole || path.length == length);
}

enum ss_code_origin ss_origin_of_path(struct ss_strview path)
{
    struct ss_strview rest;
    if (path.length == 0) {
        return SS_ORIGIN_UNKNOWN;
    }
    if (path.data[0] == '<') {
        return origin_of_pseudo_file(path);
    }
    if (has_package_folder(path)) {
        return SS_ORIGIN_PACKAGE;
    }
    /* Only an absolute path can be of the library: a script run as "python queue.py" is
     * relative. */
    return path.data[0] == '/' && after_library_folder(path, &rest) ? SS_ORIGIN_STDLIB
                                                                    : SS_ORIGIN_USER;
}

enum ss_code_origin ss_origin_of_short_path(struct ss_strview path)
{
    if (path.length == 0) {
        return SS_ORIGIN_UNKNOWN;
    }
    if (path.data[0] == '<' || path.data[0] == '/' || has_package_folder(path)) {
        return ss_origin_of_path(path); /* --full-filenames */
    }
    if (is_stdlib_module(path)) {
        return SS_ORIGIN_STDLIB;
    }
    struct ss_strview top = path;
    const char *slash = memchr(path.data, '/', path.length);
    if (slash != NULL) {
        top.length = (size_t)(slash - path.data);
    } else if (ends_with(path, ".py")) {
        top.length -= 3;
    }
    bool known = IN_TABLE(package_names, top);
    return known ? SS_ORIGIN_PACKAGE : SS_ORIGIN_USER;
}
