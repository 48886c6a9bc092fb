/* SPDX-License-Identifier: Apache-2.0
 * whirr as a service, as steps of a plan: with systemd, on Windows, or not at all.
 */
#pragma once

#include "cli/setup/plan.h"

/* The kinds that are available here, for any user and for root or an administrator. */
struct setup_kinds {
    const char *names[4]; /* the first is the default */
    const char *expected, *question;
};
extern const struct setup_kinds setup_kinds_of_user, setup_kinds_of_root;
extern const char setup_needs_root[]; /* for users who request a system service without being root */

/* Adds the steps that make this program a service; kind is "system", "user" or "no". */
int plan_add_service(struct plan *p, const char *kind, struct error *err);
/* Runs a step that is a call instead of a program: 0 or -errno; 1: not such a step. */
int setup_service_step(const struct plan_command *c, struct error *err);
/* What to check next, or what remains; "": nothing. */
void setup_service_done(const struct plan *p, struct buf *out);
void setup_service_undone(struct buf *out);
