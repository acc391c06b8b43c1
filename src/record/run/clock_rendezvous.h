/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rendezvous of the recorders of a run, for pings, by a file in the folder that all of them write
 * to. The first recorder answers, and leaves its addresses and a secret there, readable by its user
 * only; of each other clock (boot and time namespace) one recorder asks.
 *
 * Stateless but for the files; a caller that got a role other than SS_RENDEZVOUS_NONE ends it with
 * ss_clock_rendezvous_end. The files of recorders that were killed remain: those of this clock are
 * replaced; those of other machines name an address that does not answer.
 */
#ifndef SS_RECORD_RUN_CLOCK_RENDEZVOUS_H
#define SS_RECORD_RUN_CLOCK_RENDEZVOUS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "record/run/clock_domain.h"

enum ss_rendezvous_role {
    SS_RENDEZVOUS_NONE,   /* another recorder of the same clock answers or asks */
    SS_RENDEZVOUS_ANSWER, /* at `port`, with `secret` */
    SS_RENDEZVOUS_ASK     /* one of `hosts` at `port`, with `secret` */
};
enum { SS_RENDEZVOUS_HOSTS = 8, SS_RENDEZVOUS_HOST_BYTES = 64, SS_RENDEZVOUS_SECRET_BYTES = 33 };

struct ss_clock_rendezvous {
    enum ss_rendezvous_role role;
    size_t host_count;
    char hosts[SS_RENDEZVOUS_HOSTS][SS_RENDEZVOUS_HOST_BYTES]; /* numeric addresses */
    unsigned port;
    char secret[SS_RENDEZVOUS_SECRET_BYTES];
    char *path; /* of the own file; NULL: none */
};

/* Where `folder` has no file yet, the caller answers: it listens already, at `port`. With another
 * role it stops listening. */
enum ss_status ss_clock_rendezvous_join(const char *folder,
                                        const struct ss_record_clock_domain *own, unsigned port,
                                        struct ss_clock_rendezvous *rendezvous,
                                        struct ss_error *err);
/* Removes the own file. */
void ss_clock_rendezvous_end(struct ss_clock_rendezvous *rendezvous);

#endif
