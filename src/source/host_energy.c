/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of processors and memory: the domains of RAPL (Intel and AMD) below
 * /sys/class/powercap. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "platform/polled_file.h"
#include "platform/text_scan.h"
#include "source/host_parts.h"

enum { MAX_DOMAINS = 64, NAME_BYTES = 64, PATH_BYTES = 512 };

enum energy_metric { POWER, ENERGY, ENERGY_METRICS };
static const struct ss_metric_row energy_rows[ENERGY_METRICS] = {
    [POWER] = {"power, average", "W", 2, true}, [ENERGY] = {"energy since start", "J", 3, true}};

static const double watts_of_uj_per_s = 1e-6;
static const double joules_of_uj = 1e-6;

/* A counter in microjoules, which begins again at 0 behind `most_uj`. */
struct domain {
    char folder[NAME_BYTES]; /* intel-rapl:0:2 */
    struct ss_polled_file file;
    bool is_known, is_counted; /* `is_counted`: no other domain includes it */
    uint64_t most_uj, last_uj, since_uj;
    struct ss_metric metrics[ENERGY_METRICS];
    struct ss_metric_counter counter;
    struct ss_metric_group group;
};

struct ss_host_energy {
    struct ss_vec_of(struct domain) domains;
};

/* "intel-rapl:0" is a package or the whole machine, "intel-rapl:0:2" a part of it. The same
 * counters appear as "intel-rapl-mmio" again. */
static bool is_domain(const char *folder)
{
    static const char prefix[] = "intel-rapl:";
    return strncmp(folder, prefix, sizeof prefix - 1) == 0 && strlen(folder) < NAME_BYTES;
}

static bool read_file(const char *folder, const char *name, char text[NAME_BYTES])
{
    struct ss_polled_file file;
    struct ss_strview content = {"", 0};
    bool is_read = ss_polled_file_open(&file, folder, name) == 0 &&
                   ss_polled_file_read(&file, text, NAME_BYTES - 1, &content);
    ss_polled_file_close(&file);
    size_t length = is_read ? content.length : 0;
    while (length > 0 && (unsigned char)text[length - 1] <= ' ') {
        length--;
    }
    text[length] = '\0';
    return is_read;
}

static bool read_number(const struct ss_polled_file *file, uint64_t *value)
{
    char text[NAME_BYTES];
    struct ss_strview content;
    if (!ss_polled_file_read(file, text, sizeof text, &content)) {
        return false;
    }
    struct ss_text_scan line = ss_text_scan_of(content);
    return ss_text_scan_number(&line, value);
}

static void folder_of(const struct ss_source_setup *setup, const char *domain, char *path)
{
    snprintf(path, PATH_BYTES, "%.200s/class/powercap%s%s", setup->sys_root,
             domain[0] != '\0' ? "/" : "", domain);
}

/* "power package-0", "power package-0 dram". */
static void name_domain(const struct ss_source_setup *setup, struct domain *domain)
{
    char path[PATH_BYTES], own[NAME_BYTES], above[NAME_BYTES] = "", parent[NAME_BYTES];
    folder_of(setup, domain->folder, path);
    if (!read_file(path, "name", own) || own[0] == '\0') {
        snprintf(own, sizeof own, "%s", domain->folder);
    }
    snprintf(parent, sizeof parent, "%s", domain->folder);
    char *first = strchr(parent, ':'), *last = strrchr(parent, ':');
    bool is_part = last != first;
    if (is_part) {
        *last = '\0';
        folder_of(setup, parent, path);
        read_file(path, "name", above);
    }
    snprintf(domain->group.name, sizeof domain->group.name, "power %.50s%s%.50s", above,
             above[0] != '\0' ? " " : "", own);
    /* The package includes its cores, and "psys" all packages; memory is in no package. */
    domain->is_counted = is_part ? strcmp(own, "dram") == 0 : strncmp(own, "package", 7) == 0;
}

static void add_domain(struct ss_host_energy *part, const struct ss_source_setup *setup,
                       const char *folder)
{
    struct domain domain = {.group = {.sink = &setup->metrics, .subject = SS_METRICS_OTHER}};
    char path[PATH_BYTES], most[NAME_BYTES];
    size_t length = strlen(folder);
    if (length >= sizeof domain.folder) { /* the kernel's names are short: "intel-rapl:0:1" */
        return;
    }
    memcpy(domain.folder, folder, length + 1);
    folder_of(setup, folder, path);
    if (ss_polled_file_open(&domain.file, path, "energy_uj") != 0) {
        return;
    }
    if (read_file(path, "max_energy_range_uj", most)) {
        domain.most_uj = strtoull(most, NULL, 10);
    }
    name_domain(setup, &domain);
    ss_vec_push(&part->domains, domain);
}

static int compare_folders(const void *left, const void *right)
{
    return strcmp(((const struct domain *)left)->folder, ((const struct domain *)right)->folder);
}

struct ss_host_energy *ss_host_energy_open(const struct ss_source_setup *setup)
{
    struct ss_host_energy *part = ss_alloc_zero(1, sizeof *part);
    char path[PATH_BYTES];
    folder_of(setup, "", path);
    DIR *listing = opendir(path);
    if (listing == NULL) {
        return part;
    }
    const struct dirent *entry;
    while ((entry = readdir(listing)) != NULL && part->domains.count < MAX_DOMAINS) {
        if (is_domain(entry->d_name)) {
            add_domain(part, setup, entry->d_name);
        }
    }
    closedir(listing);
    if (part->domains.count > 1) {
        qsort(part->domains.data, part->domains.count, sizeof *part->domains.data, compare_folders);
    }
    return part;
}

void ss_host_energy_close(struct ss_host_energy *part)
{
    for (size_t i = 0; i < part->domains.count; i++) {
        ss_polled_file_close(&part->domains.data[i].file);
    }
    ss_vec_fini(&part->domains);
    ss_free(part);
}

enum ss_host_energy_access ss_host_energy_probe(const struct ss_source_setup *setup)
{
    char path[PATH_BYTES];
    folder_of(setup, "", path);
    DIR *listing = opendir(path);
    enum ss_host_energy_access access = SS_HOST_ENERGY_NONE;
    const struct dirent *entry;
    while (listing != NULL && access != SS_HOST_ENERGY_READABLE &&
           (entry = readdir(listing)) != NULL) {
        struct ss_polled_file file = SS_POLLED_FILE_NONE;
        if (is_domain(entry->d_name)) {
            folder_of(setup, entry->d_name, path);
            access = ss_polled_file_open(&file, path, "energy_uj") == 0 ? SS_HOST_ENERGY_READABLE
                                                                        : SS_HOST_ENERGY_REFUSED;
        }
        ss_polled_file_close(&file);
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return access;
}

/* A counter that went back without a known end was reset. */
static uint64_t grown_uj(const struct domain *domain, uint64_t now_uj)
{
    if (now_uj >= domain->last_uj) {
        return now_uj - domain->last_uj;
    }
    return domain->most_uj >= domain->last_uj ? domain->most_uj - domain->last_uj + now_uj : 0;
}

void ss_host_energy_tick(struct ss_host_energy *part, const struct ss_host_tick *tick)
{
    for (size_t i = 0; i < part->domains.count; i++) {
        struct domain *domain = &part->domains.data[i];
        uint64_t now_uj, time_ns = ss_clock_now_ns(tick->setup->clock);
        if (!read_number(&domain->file, &now_uj)) {
            continue;
        }
        domain->since_uj += domain->is_known ? grown_uj(domain, now_uj) : 0;
        domain->last_uj = now_uj;
        domain->is_known = true;
        ss_metric_put_rate(&domain->group, &energy_rows[POWER], &domain->metrics[POWER],
                           &domain->counter, domain->since_uj, time_ns, watts_of_uj_per_s);
        if (domain->is_counted) {
            ss_metric_put(&domain->group, &energy_rows[ENERGY], &domain->metrics[ENERGY], time_ns,
                          (double)domain->since_uj * joules_of_uj);
        }
    }
}
