/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view/view_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/version.h"

enum { PATH_BYTES = 4096, MOST_FILES = 100000, FRESH_S = 2, ABANDONED_S = 86400 };

static const char ending[] = ".timeline";
/* Left free on the disk. */
static const uint64_t SPARE_BYTES = UINT64_C(1) << 30;

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

/* --- what identifies inputs ------------------------------------------------------------------- */

static void append_file(struct ss_strbuf *key, const struct stat *file)
{
    ss_strbuf_append_format(key, " %lld %lld.%09ld %lld.%09ld %llu\n", (long long)file->st_size,
                            (long long)file->st_mtim.tv_sec, file->st_mtim.tv_nsec,
                            (long long)file->st_ctim.tv_sec, file->st_ctim.tv_nsec,
                            (unsigned long long)file->st_ino);
}

/* Files in a folder that recordings consist of: not the hidden ones, and no notes. */
static bool is_of_recording(const char *name)
{
    return name[0] != '.' && !ends_with(name, ".notes.json");
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

struct names ss_vec_of(char *);

static void list_names(DIR *folder, struct names *names)
{
    for (struct dirent *entry; (entry = readdir(folder)) != NULL && names->count <= MOST_FILES;) {
        if (is_of_recording(entry->d_name)) {
            ss_vec_push(names, ss_strdup(entry->d_name));
        }
    }
    if (names->count > 1) {
        qsort(names->data, names->count, sizeof *names->data, by_name);
    }
}

static bool append_folder(struct ss_strbuf *key, const char *path)
{
    struct names names = {0};
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return false;
    }
    list_names(folder, &names);
    bool is_known = names.count <= MOST_FILES;
    for (size_t i = 0; i < names.count; i++) {
        struct stat file;
        if (fstatat(dirfd(folder), names.data[i], &file, 0) == 0 && S_ISREG(file.st_mode)) {
            ss_strbuf_append_text(key, names.data[i]);
            append_file(key, &file);
        }
        ss_free(names.data[i]);
    }
    ss_vec_fini(&names);
    closedir(folder);
    return is_known;
}

static bool append_input(struct ss_strbuf *key, const char *path)
{
    struct stat file;
    char whole[PATH_MAX];
    if (realpath(path, whole) == NULL || stat(whole, &file) != 0) {
        return false;
    }
    /* As the user named it, too: the page shows that. */
    ss_strbuf_append_format(key, "%s %s", path, whole);
    append_file(key, &file);
    return S_ISREG(file.st_mode) || (S_ISDIR(file.st_mode) && append_folder(key, whole));
}

static bool identify(const struct ss_view_cache *cache, struct ss_strbuf *key)
{
    struct stat program;
    bool is_known = stat("/proc/self/exe", &program) == 0;
    ss_strbuf_append_text(key, "stepscope " SS_VERSION);
    append_file(key, is_known ? &program : &(struct stat){0});
    for (size_t i = 0; i < cache->path_count; i++) {
        is_known = is_known && append_input(key, cache->paths[i]);
    }
    return is_known && !key->overflow;
}

/* --- where it is ------------------------------------------------------------------------------ */

/* A folder of this user, that no other user may write. */
static bool is_own_folder(const char *path)
{
    struct stat folder;
    return lstat(path, &folder) == 0 && S_ISDIR(folder.st_mode) && folder.st_uid == geteuid() &&
           (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static char *find_folder(void)
{
    static const char *const parts[] = {"/stepscope", "/view"};
    const char *cache = ss_env_get(SS_ENV_XDG_CACHE_HOME), *home = ss_env_get(SS_ENV_HOME);
    struct ss_strbuf path;
    ss_strbuf_init(&path, PATH_BYTES);
    if (cache != NULL && cache[0] == '/') {
        ss_strbuf_append_text(&path, cache);
    } else if (home != NULL && home[0] == '/') {
        ss_strbuf_append_format(&path, "%s/.cache", home);
    }
    bool is_known = path.length > 0;
    if (is_known) {
        mkdir(path.data, 0700);
    }
    for (size_t i = 0; is_known && i < sizeof parts / sizeof *parts; i++) {
        ss_strbuf_append_text(&path, parts[i]);
        mkdir(path.data, 0700);
        is_known = !path.overflow && is_own_folder(path.data);
    }
    char *found = is_known ? ss_strdup(path.data) : NULL;
    ss_strbuf_fini(&path);
    return found;
}

static void name_file(struct ss_view_cache *cache)
{
    struct ss_strbuf paths;
    ss_strbuf_init(&paths, SS_SAVED_KEY_BYTES);
    for (size_t i = 0; i < cache->path_count; i++) {
        char whole[PATH_MAX];
        ss_strbuf_append_format(&paths, "%s\n", realpath(cache->paths[i], whole) ? whole : "");
    }
    /* Inputs of the same hash replace each other: the key distinguishes them. */
    uint32_t low = ss_hash_bytes(paths.data, paths.length);
    ss_strbuf_append_text(&paths, "view");
    uint32_t high = ss_hash_bytes(paths.data, paths.length);
    ss_strbuf_clear(&paths);
    ss_strbuf_append_format(&paths, "%s/%08x%08x%s", cache->folder, high, low, ending);
    cache->file = ss_strbuf_take(&paths);
    ss_strbuf_fini(&paths);
}

void ss_view_cache_init(struct ss_view_cache *cache, const char *const *paths, size_t count)
{
    *cache = (struct ss_view_cache){.paths = paths, .path_count = count, .folder = find_folder()};
    ss_strbuf_init(&cache->key, SS_SAVED_KEY_BYTES);
    cache->is_usable = cache->folder != NULL && identify(cache, &cache->key);
    if (cache->is_usable) {
        name_file(cache);
    }
}

bool ss_view_cache_load(const struct ss_view_cache *cache, struct ss_viewed *viewed)
{
    struct stat file;
    struct ss_error err = {0};
    const struct ss_restore_options options = {.size = sizeof options,
                                               .key = {cache->key.data, cache->key.length},
                                               .most_bytes = SS_VIEW_CACHE_BYTES};
    int fd =
        cache->is_usable ? open(cache->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    if (fd < 0) {
        return false;
    }
    bool is_own = fstat(fd, &file) == 0 && file.st_uid == geteuid() &&
                  (file.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    bool is_loaded = is_own && ss_viewed_restore(viewed, fd, &options, &err) == SS_OK;
    if (is_loaded) {
        futimens(fd, NULL); /* the least recently used one goes first */
    } else {
        ss_log(SS_INFO, "view", "%s is not used: %s", cache->file,
               is_own ? err.message : "others may write it");
    }
    close(fd);
    return is_loaded;
}

/* --- room ------------------------------------------------------------------------------------- */

struct saved_file {
    char *name;
    uint64_t bytes;
    int64_t used_s;
};

struct saved_files ss_vec_of(struct saved_file);

static int by_use(const void *left, const void *right)
{
    const struct saved_file *a = left, *b = right;
    return (a->used_s > b->used_s) - (a->used_s < b->used_s);
}

/* The saved timelines; removes what an interrupted program left. */
static void list_files(int folder, struct saved_files *files)
{
    int copy = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        struct stat file;
        if (fstatat(folder, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(file.st_mode)) {
            continue;
        }
        if (entry->d_name[0] == '.' && file.st_mtim.tv_sec + ABANDONED_S < time(NULL)) {
            unlinkat(folder, entry->d_name, 0);
        } else if (ends_with(entry->d_name, ending) && files->count < MOST_FILES) {
            ss_vec_push(files, (struct saved_file){ss_strdup(entry->d_name), (uint64_t)file.st_size,
                                                   file.st_mtim.tv_sec});
        }
    }
    if (entries != NULL) {
        closedir(entries);
    } else if (copy >= 0) {
        close(copy);
    }
}

/* Removes the least recently used ones until this many bytes may be added. */
static void make_room(const char *path, uint64_t bytes)
{
    struct saved_files files = {0};
    uint64_t all = bytes;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0) {
        return;
    }
    list_files(folder, &files);
    if (files.count > 1) {
        qsort(files.data, files.count, sizeof *files.data, by_use);
    }
    for (size_t i = 0; i < files.count; i++) {
        all += files.data[i].bytes;
    }
    for (size_t i = 0; i < files.count; i++) {
        if (all > SS_VIEW_CACHE_BYTES && unlinkat(folder, files.data[i].name, 0) == 0) {
            all -= files.data[i].bytes;
        }
        ss_free(files.data[i].name);
    }
    ss_vec_fini(&files);
    close(folder);
}

static bool has_room(const char *folder, uint64_t bytes)
{
    struct statvfs disk;
    return statvfs(folder, &disk) == 0 &&
           (uint64_t)disk.f_bavail * disk.f_frsize > bytes + SPARE_BYTES;
}

/* --- storing ---------------------------------------------------------------------------------- */

/* The sink writes into pipes and follows links; the folder is this user's, and so is the name. */
static void remove_special(const char *path)
{
    struct stat file;
    if (lstat(path, &file) == 0 && !S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode)) {
        unlink(path);
    }
}

static void *store(void *context)
{
    struct ss_view_cache *cache = context;
    struct ss_error err = {0};
    struct ss_sink sink;
    remove_special(cache->file);
    enum ss_status status = ss_sink_open(&sink, cache->file, 0600, &err);
    if (status == SS_OK) {
        ss_viewed_save(cache->viewed, (struct ss_strview){cache->key.data, cache->key.length},
                       &cache->stops, &sink);
        if (atomic_load_explicit(&cache->stops, memory_order_relaxed)) {
            ss_sink_abandon(&sink);
        } else {
            status = ss_sink_close(&sink, &err);
        }
    }
    if (status != SS_OK) {
        ss_log(SS_INFO, "view", "the timeline is not saved: %s", err.message);
    }
    return NULL;
}

/* A file that was written this very moment may change again without a trace of it. */
static bool is_fresh(const struct ss_view_cache *cache)
{
    time_t now = time(NULL);
    bool fresh = false;
    for (size_t i = 0; i < cache->path_count; i++) {
        struct stat file;
        fresh = fresh || stat(cache->paths[i], &file) != 0 || file.st_mtim.tv_sec + FRESH_S > now ||
                file.st_ctim.tv_sec + FRESH_S > now;
    }
    return fresh;
}

static bool is_unchanged(const struct ss_view_cache *cache)
{
    struct ss_strbuf key;
    ss_strbuf_init(&key, SS_SAVED_KEY_BYTES);
    bool is_same = identify(cache, &key) && key.length == cache->key.length &&
                   memcmp(key.data, cache->key.data, key.length) == 0;
    ss_strbuf_fini(&key);
    return is_same && !is_fresh(cache);
}

void ss_view_cache_store(struct ss_view_cache *cache, const struct ss_viewed *viewed)
{
    const struct ss_model *model = &viewed->model;
    if (!cache->is_usable || viewed->timeline.slices + model->values.count < SS_VIEW_CACHE_LEAST) {
        return;
    }
    uint64_t bytes = ss_viewed_saved_bytes(viewed);
    if (bytes > SS_VIEW_CACHE_BYTES || !has_room(cache->folder, bytes) || !is_unchanged(cache)) {
        return;
    }
    make_room(cache->folder, bytes);
    cache->viewed = viewed;
    cache->is_running = ss_thread_start("save-timeline", store, cache, &cache->thread);
}

void ss_view_cache_fini(struct ss_view_cache *cache)
{
    if (cache->is_running) {
        atomic_store_explicit(&cache->stops, true, memory_order_relaxed);
        pthread_join(cache->thread, NULL);
    }
    ss_free(cache->folder);
    ss_free(cache->file);
    ss_strbuf_fini(&cache->key);
}
