/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of `stepscope doctor`: a level, what was tested, the finding, and its fix below it. */
#ifndef SS_CLI_CHECKS_DOCTOR_TEXT_H
#define SS_CLI_CHECKS_DOCTOR_TEXT_H

#include "base/terminal.h"

struct ss_doctor_line {
    const char *level;
    enum ss_style style; /* of the level, where colour is used */
    const char *name, *text;
    const char *fix; /* "": none */
};

/* On standard output, in the width of the terminal. */
void ss_doctor_print_line(const struct ss_doctor_line *line);

#endif
