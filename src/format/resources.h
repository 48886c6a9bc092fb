/* SPDX-License-Identifier: Apache-2.0
 * What the resource monitor derives from a snapshot, for its JSON and its table alike.
 */
#pragma once

#include "model/snapshot.h"

/* The GPU with the most free memory among those that can be used; NULL without one. */
struct reading resources_memory_permille(const struct host *host);
