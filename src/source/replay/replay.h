/* SPDX-License-Identifier: Apache-2.0
 * The source that plays a recording.
 */
#pragma once

#include "source/source.h"

extern const struct source_ops replay_source;
