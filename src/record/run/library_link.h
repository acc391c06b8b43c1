/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for libraries whose path a list of the dynamic linker cannot hold: LD_PRELOAD has spaces
 * and colons as separators, and no way to escape them. No state.
 */
#ifndef SS_RECORD_RUN_LIBRARY_LINK_H
#define SS_RECORD_RUN_LIBRARY_LINK_H

#include <stdbool.h>
#include <stddef.h>

/* Replaces the folder of `path` by a link to it in the folder above `ring_directory`, if `path` has
 * one of `separators`. The link stays: programs that outlive their recording start others with its
 * name. false: the link's own path has a separator, or it cannot be made; `path` is unchanged. */
bool ss_library_link(const char *ring_directory, const char *separators, char *path, size_t size);

#endif
