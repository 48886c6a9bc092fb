/* SPDX-License-Identifier: Apache-2.0
 * The source that plays a recording.
 */
#pragma once

#include "model/recent.h"
#include "source/source.h"

extern const struct source_ops replay_source;

/* What "replay:FILE,at=SECONDS" has before that moment, as the recent past of somebody who looks at `now`; *last is the last sample
 * of it, with a reference. Leaves both alone for any other source, and where the file cannot be read. */
void replay_past(const char *source, struct wall now, struct recent *past, const struct snapshot **last);
