/* SPDX-License-Identifier: Apache-2.0 */
#include "source/python_locate.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "platform/elf.h"
#include "platform/elf_image.h"
#include "platform/maps.h"
#include "platform/memory.h"

enum {
    CACHED_FILES = 2048,
    MAX_RODATA_BYTES = 64 << 20,
    /* Per search: a process may map any number of files of any size, and the recorder must also
     * serve other processes. The next search continues with the rest. */
    MAX_SEARCH_BYTES = 128 << 20,
    MAX_SEARCH_FILES = 4096,
    OLDEST_MINOR = 8,
    HIGHEST_MINOR = 30, /* a higher version belongs to another library (sqlite 3.4x) */
};

/* The Python data of an executable or library, cached by file identity. */
struct file_facts {
    dev_t device;
    ino_t inode;
    struct timespec modified;
    bool has_runtime;
    bool holds_version; /* in its own data: the interpreter itself, not a small launcher */
    bool is_debug, is_free_threaded;
    uint64_t runtime;       /* link-time address */
    uint32_t version_hex;   /* micro may be missing */
    uint64_t segment_count; /* segments for the load bias */
    struct ss_elf_segment segments[8];
};

static pthread_mutex_t facts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct file_facts *facts_cache; /* circular: the oldest entry is overwritten */
static size_t facts_count;

/* --- versions --- */

static uint32_t make_version(unsigned major, unsigned minor, unsigned micro)
{
    return major << 24 | minor << 16 | micro << 8;
}

/* "3.11.7", "3.13.0rc2", "3.9.18+", without trailing text. */
static bool parse_version(const char *text, size_t length, uint32_t *version)
{
    unsigned minor, micro;
    int used = 0;
    char copy[24];
    if (length < 5 || length >= sizeof copy || (memcmp(text, "3.", 2) != 0)) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (sscanf(copy, "3.%2u.%2u%n", &minor, &micro, &used) != 2 || minor > HIGHEST_MINOR) {
        return false;
    }
    size_t rest = (size_t)used + strspn(copy + used, "abrc+0123456789");
    *version = make_version(3, minor, micro) | 0xf0;
    return rest == length && minor >= 6;
}

/* PY_VERSION is in the read-only data. The linker may merge it with the end of a longer string
 * ("/opt/versions/3.9.18"): with a known minor version, any byte but a digit or dot may precede. */
static uint32_t version_in_rodata(struct ss_elf *elf, uint32_t wanted_minor)
{
    size_t length = 0;
    char *content = ss_elf_section_content(elf, ".rodata", MAX_RODATA_BYTES, &length);
    uint32_t found = 0;
    const char *at = content;
    while (at != NULL && found == 0) {
        at = memmem(at, length - (size_t)(at - content), "3.", 2);
        if (at == NULL) {
            break;
        }
        uint32_t version;
        char before = at > content ? at[-1] : '\0';
        bool is_alone = before == '\0' ||
                        (wanted_minor != 0 && !isdigit((unsigned char)before) && before != '.');
        size_t rest = length - (size_t)(at - content);
        size_t size = strnlen(at, rest < 24 ? rest : 24);
        if (is_alone && parse_version(at, size, &version) &&
            (wanted_minor == 0 || ((version >> 16) & 255) == wanted_minor)) {
            found = version;
        }
        at++;
    }
    ss_free(content);
    return found;
}

/* libpython3.11.so.1.0, python3.9, libpython3.13t.so, python2.7; 0: no version in the name. */
static uint32_t version_in_name(const char *path, char flags[4])
{
    const char *name = strrchr(path, '/');
    unsigned major, minor;
    int used = 0;
    flags[0] = '\0';
    name = strstr(name != NULL ? name : path, "python");
    if (name == NULL || sscanf(name, "python%1u.%2u%n", &major, &minor, &used) != 2) {
        return 0;
    }
    for (size_t i = 0; i < 3 && islower((unsigned char)name[used]); i++) {
        flags[i] = name[used++];
        flags[i + 1] = '\0';
    }
    return make_version(major, minor, 0);
}

static uint32_t find_version(struct ss_elf *elf, const char *path, struct file_facts *facts)
{
    char flags[4];
    uint32_t named = version_in_name(path, flags), exact;
    facts->is_debug = strchr(flags, 'd') != NULL;
    facts->is_free_threaded = strchr(flags, 't') != NULL;
    struct ss_elf_location place;
    if (ss_elf_symbol(elf, "Py_Version", &place) &&
        ss_elf_read(elf, place.address, &exact, sizeof exact) && (exact >> 24) == 3) {
        return exact;
    }
    exact = version_in_rodata(elf, (named >> 16) & 255);
    facts->holds_version = exact != 0 && named != 0;
    return exact != 0 ? exact : named;
}

/* --- one file --- */

/* Returns the number of bytes read. */
static uint64_t read_facts(int fd, const char *path, struct file_facts *facts)
{
    struct ss_elf *elf = NULL;
    struct ss_elf_location place;
    if (ss_elf_open(fd, &elf, NULL) != SS_OK) {
        return 0;
    }
    /* Python 2 and 3.0 to 3.6 have no _PyRuntime: the version identifies them. */
    if (ss_elf_section(elf, ".PyRuntime", &place) || ss_elf_symbol(elf, "_PyRuntime", &place)) {
        facts->has_runtime = true;
        facts->runtime = place.address;
    }
    if (facts->has_runtime || strstr(path, "python") != NULL) {
        facts->version_hex = find_version(elf, path, facts);
    }
    enum { SEGMENTS = sizeof facts->segments / sizeof facts->segments[0] };
    while (facts->segment_count < SEGMENTS &&
           ss_elf_segment(elf, facts->segment_count, &facts->segments[facts->segment_count])) {
        facts->segment_count++;
    }
    uint64_t read_bytes = ss_elf_read_bytes(elf);
    ss_elf_close(elf);
    return read_bytes;
}

static bool same_file(const struct file_facts *facts, const struct stat *info)
{
    return facts->device == info->st_dev && facts->inode == info->st_ino &&
           facts->modified.tv_sec == info->st_mtim.tv_sec &&
           facts->modified.tv_nsec == info->st_mtim.tv_nsec;
}

static bool find_cached(const struct stat *info, struct file_facts *facts)
{
    bool found = false;
    pthread_mutex_lock(&facts_lock);
    size_t count = facts_count < CACHED_FILES ? facts_count : CACHED_FILES;
    for (size_t i = 0; i < count && !found; i++) {
        if (same_file(&facts_cache[i], info)) {
            *facts = facts_cache[i];
            found = true;
        }
    }
    pthread_mutex_unlock(&facts_lock);
    return found;
}

static void add_cached(const struct file_facts *facts)
{
    pthread_mutex_lock(&facts_lock);
    if (facts_cache == NULL) {
        facts_cache = ss_alloc_zero(CACHED_FILES, sizeof *facts_cache);
    }
    facts_cache[facts_count++ % CACHED_FILES] = *facts;
    pthread_mutex_unlock(&facts_lock);
}

struct search {
    pid_t pid;
    const struct ss_maps *maps;
    struct ss_python_location *location;
    uint32_t unsupported; /* version of a detected Python that cannot be read */
    uint32_t stripped;    /* version of a Python without the symbol _PyRuntime */
    bool is_unreadable;   /* a likely file could not be opened */
    uint64_t read_bytes;
    size_t files;
    bool is_cut_short; /* the search reached a limit */
};

enum get_result { NO_FACTS, GOT_FACTS, POSTPONED };

static enum get_result get_facts(struct search *search, const struct ss_map *map,
                                 struct file_facts *facts)
{
    struct stat info;
    if (search->files++ >= MAX_SEARCH_FILES) {
        search->is_cut_short = true;
        return POSTPONED;
    }
    int fd = ss_map_open_file(search->pid, map);
    if (fd < 0) {
        return NO_FACTS;
    }
    if (fstat(fd, &info) == 0 && find_cached(&info, facts)) {
        close(fd);
        return GOT_FACTS;
    }
    if (search->read_bytes >= MAX_SEARCH_BYTES) {
        close(fd);
        search->is_cut_short = true;
        return POSTPONED;
    }
    memset(facts, 0, sizeof *facts);
    facts->device = info.st_dev;
    facts->inode = info.st_ino;
    facts->modified = info.st_mtim;
    search->read_bytes += read_facts(fd, map->path, facts);
    add_cached(facts);
    return GOT_FACTS;
}

/* --- the process --- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Computes the load bias from a mapping and a segment with the same file offset. */
static bool load_bias(const struct ss_maps *maps, const struct ss_map *file,
                      const struct file_facts *facts, uint64_t *bias)
{
    for (size_t i = 0; i < maps->count; i++) {
        const struct ss_map *map = &maps->maps[i];
        if (map->inode != file->inode || strcmp(map->path, file->path) != 0) {
            continue;
        }
        for (uint64_t k = 0; k < facts->segment_count; k++) {
            if (facts->segments[k].offset == map->offset &&
                facts->segments[k].is_writable == map->is_writable) {
                *bias = map->start - facts->segments[k].address;
                return true;
            }
            if (facts->segments[k].offset == map->offset && !facts->segments[k].is_writable) {
                *bias = map->start - facts->segments[k].address;
                return true;
            }
        }
    }
    return false;
}

enum candidate { NOT_A_CANDIDATE, OTHER_FILE, EXECUTABLE, LIBPYTHON };

/* The first mapping of each file, best candidates first: libpython, the executable, the rest. */
static enum candidate classify(const struct ss_maps *maps, size_t index, uint64_t exe_inode)
{
    const struct ss_map *map = &maps->maps[index];
    if (map->inode == 0 || map->path[0] != '/' || map->offset != 0) {
        return NOT_A_CANDIDATE;
    }
    if (strncmp(base_name(map->path), "libpython", 9) == 0) {
        return LIBPYTHON;
    }
    const char *name = base_name(map->path);
    /* Started by another program, a loader or an emulator, an interpreter is not the executable. */
    if ((exe_inode != 0 && map->inode == exe_inode) || strncmp(name, "python", 6) == 0) {
        return EXECUTABLE;
    }
    /* A replaced file may be renamed before it is deleted. */
    return strstr(name, ".so") != NULL || map->is_deleted ? OTHER_FILE : NOT_A_CANDIDATE;
}

static uint64_t inode_of_exe(pid_t pid)
{
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return stat(path, &info) == 0 ? info.st_ino : 0;
}

static enum ss_status check_pypy(const struct ss_maps *maps, pid_t pid, struct ss_error *err)
{
    for (size_t i = 0; i < maps->count; i++) {
        const char *name = base_name(maps->maps[i].path);
        if (strncmp(name, "libpypy", 7) == 0 || strncmp(name, "pypy", 4) == 0) {
            return ss_fail(err, SS_E_UNSUPPORTED,
                           "process %d runs PyPy; stepscope reads CPython 3.8 to 3.15", (int)pid);
        }
    }
    return SS_OK;
}

/* For a file that cannot be opened: reads its exported symbols from process memory. */
static bool try_image(struct search *search, const struct ss_map *map)
{
    struct ss_memory_reader *reader = NULL;
    uint64_t runtime, version_address;
    uint32_t version;
    char flags[4];
    if (ss_memory_open(search->pid, &reader, NULL) != SS_OK) {
        return false;
    }
    bool found = ss_elf_image_symbol(reader, map->start, "_PyRuntime", &runtime);
    if (found) {
        *search->location = (struct ss_python_location){
            .runtime_address = runtime, .version_hex = version_in_name(map->path, flags)};
        search->location->is_debug = strchr(flags, 'd') != NULL;
        search->location->is_free_threaded = strchr(flags, 't') != NULL;
        if (ss_elf_image_symbol(reader, map->start, "Py_Version", &version_address) &&
            ss_memory_read(reader, version_address, &version, sizeof version)) {
            search->location->version_hex = version;
        }
    }
    ss_memory_close(reader);
    return found;
}

static bool try_file(struct search *search, const struct ss_map *map, enum candidate kind)
{
    struct file_facts facts;
    uint64_t bias;
    enum get_result got = get_facts(search, map, &facts);
    if (got == POSTPONED) {
        return false;
    }
    if (got == NO_FACTS) {
        if (kind == OTHER_FILE && !map->is_deleted) {
            return false;
        }
        bool found = try_image(search, map);
        search->is_unreadable |= !found && kind != OTHER_FILE;
        return found;
    }
    unsigned major = facts.version_hex >> 24, minor = (facts.version_hex >> 16) & 255;
    if (facts.version_hex != 0 && (major < 3 || minor < OLDEST_MINOR)) {
        search->unsupported = facts.version_hex;
        return false;
    }
    if (!facts.has_runtime && facts.holds_version && kind != OTHER_FILE) {
        search->stripped = facts.version_hex;
    }
    if (!facts.has_runtime || !load_bias(search->maps, map, &facts, &bias)) {
        return false;
    }
    *search->location = (struct ss_python_location){.runtime_address = facts.runtime + bias,
                                                    .version_hex = facts.version_hex,
                                                    .is_debug = facts.is_debug,
                                                    .is_free_threaded = facts.is_free_threaded};
    return true;
}

/* Why the search found no interpreter. */
static enum ss_status explain(const struct search *search, pid_t pid, struct ss_error *err)
{
    if (search->unsupported != 0) {
        return ss_fail(err, SS_E_UNSUPPORTED,
                       "process %d runs Python %u.%u; stepscope reads CPython 3.8 to 3.15",
                       (int)pid, search->unsupported >> 24, (search->unsupported >> 16) & 255);
    }
    if (search->stripped != 0) {
        return ss_fail(err, SS_E_UNSUPPORTED,
                       "process %d runs a Python %u.%u that was stripped of the symbol _PyRuntime, "
                       "so its state cannot be found; run a build that exports it, as CPython's "
                       "own do",
                       (int)pid, search->stripped >> 24, (search->stripped >> 16) & 255);
    }
    if (search->is_cut_short) {
        return ss_fail(err, SS_E_AGAIN,
                       "process %d maps more files than one search reads, and none so far is a "
                       "Python interpreter",
                       (int)pid);
    }
    return ss_fail(err, SS_E_NOTFOUND, "process %d has no Python interpreter%s", (int)pid,
                   search->is_unreadable ? " that could be read: its files are not accessible"
                                         : " loaded");
}

enum ss_status ss_python_locate(pid_t pid, struct ss_python_location *location,
                                struct ss_error *err)
{
    struct ss_maps maps;
    SS_TRY(ss_maps_read(pid, &maps, err));
    struct search search = {.pid = pid, .maps = &maps, .location = location};
    uint64_t exe_inode = inode_of_exe(pid);
    enum ss_status status = check_pypy(&maps, pid, err);
    bool found = false;
    for (int kind = LIBPYTHON; status == SS_OK && !found && kind >= OTHER_FILE; kind--) {
        for (size_t i = 0; i < maps.count && !found; i++) {
            found = (int)classify(&maps, i, exe_inode) == kind &&
                    try_file(&search, &maps.maps[i], (enum candidate)kind);
        }
        if (search.unsupported != 0) {
            break;
        }
    }
    ss_maps_fini(&maps);
    return status != SS_OK || found ? status : explain(&search, pid, err);
}
