/* SPDX-License-Identifier: Apache-2.0 */
/* What the NVTX files share: the lock of their tables, and clocks. */
#ifndef SS_INJECT_NVTX_NVTX_EXTENSION_H
#define SS_INJECT_NVTX_NVTX_EXTENSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The process lock, for the tables of these files. false: this thread is within it already (a
 * signal handler that interrupted one of these functions), or the process is not set up. */
bool ss_nvtx_lock(void);
void ss_nvtx_unlock(void);

/* --- times ----------------------------------------------------------------------------------- */

struct ss_nvtx_time_domain;
struct ss_nvtx_sync_point;

void ss_nvtx_time_init(void); /* early: a long interval makes conversions more exact */
int64_t ss_nvtx_time_get(void);
/* Converts a timestamp of a clock or a time domain to a stamp (ss_stamp_now). false: the relation
 * of the two is unknown. */
bool ss_nvtx_time_stamp(uint32_t domain, uint64_t time_domain, int64_t time, uint64_t *stamp);

uint64_t ss_nvtx_time_register(const void *domain, const struct ss_nvtx_time_domain *attributes);
void ss_nvtx_time_source(const void *domain, uint64_t time_domain, uint64_t flags,
                         int64_t (*source)(void));
void ss_nvtx_time_source_data(const void *domain, uint64_t time_domain, uint64_t flags,
                              int64_t (*source)(void *), void *data);
void ss_nvtx_time_sync(const void *domain, uint64_t first, uint64_t second, int64_t first_time,
                       int64_t second_time);
void ss_nvtx_time_sync_table(const void *domain, uint64_t from, uint64_t to,
                             const struct ss_nvtx_sync_point *points, size_t count);
void ss_nvtx_time_conversion(const void *domain, uint64_t from, uint64_t to, double slope,
                             int64_t from_time, int64_t to_time);

#endif
