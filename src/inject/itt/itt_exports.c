/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For copies of ITT from before __itt_api_init: they look up each function of their list by its
 * name, and keep their own behaviour for those that are missing here.
 */
#include "inject/itt/itt_functions.h"

#define EXPORTED(type, name, parameters, arguments)                                                \
    __attribute__((visibility("default"))) type __itt_##name parameters;                           \
    type __itt_##name parameters                                                                   \
    {                                                                                              \
        return ss_itt_##name arguments;                                                            \
    }

EXPORTED(struct ss_itt_domain *, domain_create, (const char *name), (name))
EXPORTED(struct ss_itt_string *, string_handle_create, (const char *text), (text))
EXPORTED(void, task_begin,
         (ss_itt_in_domain domain, struct ss_itt_id id, struct ss_itt_id parent,
          ss_itt_in_string name),
         (domain, id, parent, name))
EXPORTED(void, task_end, (ss_itt_in_domain domain), (domain))
EXPORTED(void, marker,
         (ss_itt_in_domain domain, struct ss_itt_id id, ss_itt_in_string name, int scope),
         (domain, id, name, scope))
EXPORTED(struct ss_itt_domain *, frame_create, (const char *domain), (domain))
EXPORTED(void, frame_begin, (ss_itt_in_domain frame), (frame))
EXPORTED(void, frame_end, (ss_itt_in_domain frame), (frame))
EXPORTED(int, event_create, (const char *name, int length), (name, length))
EXPORTED(int, event_start, (int event), (event))
EXPORTED(int, event_end, (int event), (event))
EXPORTED(void, thread_set_name, (const char *name), (name))
EXPORTED(int, thr_name_set, (const char *name, int length), (name, length))
EXPORTED(void, pause, (void), ())
EXPORTED(void, resume, (void), ())

/* Of the protocols from before __itt_api_init, its presence selects the newer one. */
__attribute__((visibility("default"))) const char *__itt_api_version(void);
const char *__itt_api_version(void)
{
    return "stepscope";
}
