/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what programs with NVTX call things to names and domains of annot/. All of it may be called
 * from any thread; what cannot be kept is name or domain 0.
 *
 * Handles that we give out are no addresses: a registered string is its name with a mark above it,
 * a domain points into an array that nobody reads. One that is none of ours counts as 0.
 */
#ifndef SS_INJECT_NVTX_NAMES_H
#define SS_INJECT_NVTX_NAMES_H

#include "annot/events.h"
#include "inject/nvtx_abi.h"

/* A message that the program may change or free as soon as we return. NULL: no name. */
uint32_t ss_nvtx_name(const char *text);
/* The same when this address held this text the last time, else 0. */
uint32_t ss_nvtx_name_seen(const char *text);
/* PyTorch's emit_nvtx writes the number of an operation into its name, ", seq = 12, op_id = 34, …",
 * which would take a name for each: the name ends before it, and `*value` is the number. Else
 * `*value` stays. */
uint32_t ss_nvtx_name_numbered(const char *text, struct ss_event_value *value);
uint32_t ss_nvtx_name_wide(const wchar_t *text);
uint32_t ss_nvtx_name_message(int32_t type, union ss_nvtx_message message);
/* What has no message is called so. */
uint32_t ss_nvtx_name_none(void);

const void *ss_nvtx_string_handle(uint32_t name);
uint32_t ss_nvtx_string_name(const void *handle);

const void *ss_nvtx_domain_handle(uint32_t domain);
uint32_t ss_nvtx_domain(const void *handle);
/* NULL or "": the default domain. */
uint32_t ss_nvtx_domain_create(const char *name);
/* How a domain is called; 0: it is the default one, or none that NVTX has made. */
uint32_t ss_nvtx_domain_name(uint32_t domain);

/* How category `id` of a domain is called; by its number until it has a name. 0: none. */
uint32_t ss_nvtx_category(uint32_t domain, uint32_t id);
void ss_nvtx_name_category(uint32_t domain, uint32_t id, uint32_t name);

/* UTF-8 of `text`, up to its end, `length` characters or `size` bytes; returns how many bytes. */
size_t ss_nvtx_utf8_from_wide(const wchar_t *text, size_t length, char *to, size_t size);
size_t ss_nvtx_utf8_from_utf16(const uint16_t *text, size_t length, char *to, size_t size);

#endif
