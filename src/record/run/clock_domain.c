/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/clock_domain.h"

#include <string.h>
#include <sys/stat.h>

#include "platform/procfs.h"

void ss_record_clock_domain_read(struct ss_record_clock_domain *domain)
{
    struct stat status;
    *domain = (struct ss_record_clock_domain){0};
    if (ss_procfs_read("/proc/sys/kernel/random/boot_id", domain->boot_id, sizeof domain->boot_id) <
        0) {
        domain->boot_id[0] = '\0';
    }
    domain->boot_id[strcspn(domain->boot_id, "\n")] = '\0';
    if (stat("/proc/self/ns/time", &status) == 0) {
        domain->time_namespace = status.st_ino;
    }
}
