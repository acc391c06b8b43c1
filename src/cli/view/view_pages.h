/* SPDX-License-Identifier: Apache-2.0 */
/* What `view` serves: the page's files, which are built in, and the answers about its timeline. */
#ifndef SS_CLI_VIEW_VIEW_PAGES_H
#define SS_CLI_VIEW_VIEW_PAGES_H

#include "cli/view/view_notes.h"
#include "serve/server.h"
#include "timeline/answers.h"

struct ss_view_pages {
    struct ss_answering answering;
    struct ss_view_notes *notes;
};

/* The page's own files: they say nothing of a recording. */
bool ss_view_is_public(const char *path);
/* An ss_serve_answer; the context is a struct ss_view_pages. */
void ss_view_answer(void *context, const struct ss_serve_request *request,
                    struct ss_serve_reply *reply);

#endif
