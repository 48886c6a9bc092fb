/* SPDX-License-Identifier: Apache-2.0
 * One page of a model server: on loopback and at addresses in numbers directly, elsewhere and with TLS through libcurl.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "base/env.h"
#include "base/error.h"
#include "daemon/serving/serving_rules.h"

/* The status, with the page behind what `body` has, or -errno. `rule` may be NULL; its key is sent along. `address` is where this
 * host's loopback reaches it; "": the rule's URL. -EACCES and a sentence: its key can't be read, and nothing was asked. */
int fetch_page(const struct env *env, const struct serving_rule *rule, const char *address, uint16_t port, const char *page,
               const _Atomic bool *cancel, struct buf *body, struct error *err);
