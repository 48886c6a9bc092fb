/* SPDX-License-Identifier: Apache-2.0
 * One page of a model server: directly on loopback and at numeric addresses, through libcurl elsewhere and with TLS.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "base/env.h"
#include "base/error.h"
#include "daemon/serving/serving_rules.h"

/* Returns the status and appends the page to `body`, or -errno. `rule` may be NULL; its key is sent along. `address` reaches it
 * on this host's loopback; "": use the rule's URL. -EACCES and a message: the key is unreadable, and no request was sent. */
int fetch_page(const struct env *env, const struct serving_rule *rule, const char *address, uint16_t port, const char *page,
               const _Atomic bool *cancel, struct buf *body, struct error *err);
