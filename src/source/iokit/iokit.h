/* SPDX-License-Identifier: Apache-2.0
 * The iokit source with a table of functions of one's own.
 */
#pragma once

#include "source/iokit/calls.h"
#include "source/source.h"

/* -ENODEV: no GPU in the registry. The table is copied. */
int iokit_open_with(const struct env *env, const struct iokit_calls *calls, struct source **ret, struct error *err);
