/* SPDX-License-Identifier: Apache-2.0 */
/* Which mutant of this build is on. The environment decides once, as the program is loaded:
 * STEPSCOPE_MUTANT has the numbers of those that are on, separated by commas;
 * STEPSCOPE_MUTANTS_REACHED names a file with a byte for each mutant, which becomes 1 where a
 * program reaches it. Immutable after that: every thread and signal handler may read it. */
#ifndef SS_BASE_MUTANTS_H
#define SS_BASE_MUTANTS_H

#define SS_MUTANTS_MAX 4096

extern unsigned char ss_mutant_on[SS_MUTANTS_MAX];
extern unsigned char *ss_mutant_reached; /* NULL: not requested */

static inline int ss_mutant_is(int number)
{
    if (ss_mutant_reached) {
        ss_mutant_reached[number] = 1;
    }
    return ss_mutant_on[number];
}

#endif
