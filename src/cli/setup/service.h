/* SPDX-License-Identifier: Apache-2.0
 * whirr as a service of systemd, as steps of a plan.
 */
#pragma once

#include "cli/setup/plan.h"

/* Adds what makes a service of this program; kind is "system", "user" or "no". */
int plan_add_service(struct plan *p, const char *kind, struct error *err);
