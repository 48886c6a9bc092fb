/* SPDX-License-Identifier: Apache-2.0
 * The iokit source with a custom function table.
 */
#pragma once

#include "source/iokit/iokit_calls.h"
#include "source/source.h"

/* -ENODEV: no GPU in the registry. Copies the table. */
int iokit_open_with(const struct env *env, const struct iokit_calls *calls, struct source **ret, struct error *err);
