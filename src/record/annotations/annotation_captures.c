/* SPDX-License-Identifier: Apache-2.0 */
#include "record/annotations/annotation_captures.h"

#include <stdatomic.h>

#include "record/annotations/annotation_clients.h"
#include "record/processes/context.h"
#include "source/annot.h"

/* What runs below a process in a window is recorded with it. */
static void follow(struct ss_record_client *client, bool opens, uint64_t now_ns)
{
    bool is_open = client->demanded_window != 0;
    bool has_own = client->filter != NULL && ss_client_window_owner(client) == NULL;
    if (has_own && opens && !is_open) {
        client->windows_of_seconds++;
        ss_client_emit_edge(client, client->windows_of_seconds, now_ns);
    } else if (!opens && is_open) {
        ss_client_emit_edge(client, 0, now_ns);
    }
    ss_annot_capture(client->annot, opens);
}

/* Programs without libstepscope are sampled in the windows, too. */
void ss_annotations_capture(struct ss_record_annotations *annotations, bool opens, uint64_t now_ns)
{
    bool changes = annotations->is_captured != opens;
    annotations->is_captured = opens;
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended) {
            follow(client, opens, now_ns);
        }
    }
    if (changes) {
        annotations->windows_of_all += opens && annotations->live == 0;
        annotations->open_windows_of_all += opens ? 1 : (uint32_t)-1;
    }
}

bool ss_annotations_captured_all(const struct ss_record_annotations *annotations, uint32_t most)
{
    bool has_most = most == 0;
    for (size_t i = 0; i < annotations->clients.count; i++) {
        const struct ss_record_client *client = annotations->clients.data[i];
        if (client->is_ended || client->filter == NULL) {
            continue;
        }
        if (ss_client_window(client) != 0) {
            return false;
        }
        has_most = has_most || ss_window_filter_counts(client->filter).windows >= most;
    }
    return has_most && annotations->drained.count == 0;
}
