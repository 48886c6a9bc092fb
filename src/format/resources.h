/* SPDX-License-Identifier: Apache-2.0
 * What the resource monitor derives from a snapshot, for its JSON and its table alike.
 */
#pragma once

#include "model/snapshot.h"

/* Share of the memory in use: what is not available to programs. */
struct reading resources_memory_permille(const struct host *host);
