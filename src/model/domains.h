/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the tracks that importers make of other tools' traces, besides those that recordings
 * have too (base/shared_names.h). Immutable.
 */
#ifndef SS_MODEL_DOMAINS_H
#define SS_MODEL_DOMAINS_H

#define SS_DOMAIN_PYTHON "python"              /* calls of Python functions */
#define SS_DOMAIN_MEMORY "memory"              /* allocations */
#define SS_DOMAIN_OVERHEAD "profiler overhead" /* time that the profiler itself took */
#define SS_DOMAIN_DEVICE_ANNOTATIONS                                                               \
    "annotations" /* of a stream: around the work they launched                                    \
                   */

#endif
