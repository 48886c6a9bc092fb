/* SPDX-License-Identifier: Apache-2.0
 * whirr as a service, as steps of a plan: of systemd, of Windows, or of nothing that setup knows.
 */
#pragma once

#include "cli/setup/plan.h"

/* What may be asked for here, of any user and of root or an administrator. */
struct setup_kinds {
    const char *names[4]; /* the first is the usual one */
    const char *expected, *question;
};
extern const struct setup_kinds setup_kinds_of_user, setup_kinds_of_root;
extern const char setup_needs_root[]; /* for who wants one of the system without being root */

/* Adds what makes a service of this program; kind is "system", "user" or "no". */
int plan_add_service(struct plan *p, const char *kind, struct error *err);
/* A step that no program does, by the words that the plan has for it: 0 or -errno; 1: it is none. */
int setup_service_step(const struct plan_command *c, struct error *err);
/* What there is to look at now, or what stays behind; "": nothing to say. */
void setup_service_done(const struct plan *p, struct buf *out);
void setup_service_undone(struct buf *out);
