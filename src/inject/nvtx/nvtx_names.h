/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps NVTX's messages, domains and categories to names and domains of annot/. Any thread; what
 * cannot be stored is name or domain 0.
 *
 * Handles point to no data: a registered string is its name number below a tag, a domain is an
 * address in an array that is never read. A handle that these functions did not return maps to 0.
 */
#ifndef SS_INJECT_NVTX_NVTX_NAMES_H
#define SS_INJECT_NVTX_NVTX_NAMES_H

#include "annot/events.h"
#include "inject/nvtx/nvtx_abi.h"

/* The name of a message, which the program may change or free after the call. NULL: 0. */
uint32_t ss_nvtx_name(const char *text);
/* The cached name, if this address held the same text at the last call; else 0. */
uint32_t ss_nvtx_name_cached(const char *text);
/* PyTorch's emit_nvtx appends the number of an operation to its name, ", seq = 12, op_id = 34, …",
 * which would need one name per operation: the name ends before it, and `*value` is the number.
 * Without a number `*value` stays unchanged. */
uint32_t ss_nvtx_name_numbered(const char *text, struct ss_event_value *value);
uint32_t ss_nvtx_name_wide(const wchar_t *text);
uint32_t ss_nvtx_name_message(int32_t type, union ss_nvtx_message message);
/* The name of events without message. */
uint32_t ss_nvtx_name_none(void);

const void *ss_nvtx_string_handle(uint32_t name);
uint32_t ss_nvtx_string_name(const void *handle);

const void *ss_nvtx_domain_handle(uint32_t domain);
uint32_t ss_nvtx_domain(const void *handle);
/* NULL or "": the default domain. */
uint32_t ss_nvtx_domain_create(const char *name);
/* The name of a domain; 0: the default domain, or one that NVTX did not create. */
uint32_t ss_nvtx_domain_name(uint32_t domain);

/* The name of category `id` of a domain; its number as text until the program names it. 0: none. */
uint32_t ss_nvtx_category(uint32_t domain, uint32_t id);
void ss_nvtx_name_category(uint32_t domain, uint32_t id, uint32_t name);

/* Converts `text` to UTF-8, up to its end, `length` characters or `size` bytes. Returns the number
 * of bytes. */
size_t ss_nvtx_utf8_from_wide(const wchar_t *text, size_t length, char *to, size_t size);
size_t ss_nvtx_utf8_from_utf16(const uint16_t *text, size_t length, char *to, size_t size);

#endif
