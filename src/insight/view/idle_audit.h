/* SPDX-License-Identifier: Apache-2.0
 * The idle audit: which of the usual suspects keep a GPU from resting, which are worth knowing, which are ruled out. A pure
 * function of a snapshot, what is usual, and what was found around the GPU.
 */
#pragma once

#include "insight/view/why.h"
#include "model/idle_audit.h"

/* Beside each GPU's explanation; does nothing where no audit was made. Also without --idle where an idle GPU draws more than usual.
 */
void why_audit(struct why *why, const struct snapshot *now, const struct idle_facts *facts);
/* Whether an audit is worthwhile: an idle GPU draws more than its baseline. */
bool why_wants_audit(const struct why *why);

const char *idle_code_name(enum idle_code code);       /* "memory_clock" */
const char *idle_code_words(enum idle_code code);      /* "memory clock" */
const char *idle_state_words(enum activity_code code); /* "kept from idling", "busy" */
bool idle_audit_is_busy(enum activity_code code);      /* there is nothing to audit while it works */
