/* SPDX-License-Identifier: Apache-2.0 */
/* How rows of samples and of ranges are sorted. */
#ifndef SS_ANALYSIS_TABLE_SORT_H
#define SS_ANALYSIS_TABLE_SORT_H

enum ss_sort { SS_SORT_SELF, SS_SORT_TOTAL };

#endif
