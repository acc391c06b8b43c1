/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units of Nsight Compute's metrics. It scales each value to a unit that fits ("Mbyte", "us"), so
 * that values of one metric have different units: here each has the same one. Pure.
 */
#ifndef SS_MODEL_NCU_NCU_UNITS_H
#define SS_MODEL_NCU_NCU_UNITS_H

#include "base/strbuf.h"
#include "base/strview.h"

/* Appends the unit without its prefixes: "Gbyte/s" is "byte/s", "usecond" is "ns", "cycle/nsecond"
 * is "cycle/s". Returns what a value is multiplied by. */
double ss_ncu_unit(struct ss_strview unit, struct ss_strbuf *plain);

#endif
