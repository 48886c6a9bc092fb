/* SPDX-License-Identifier: Apache-2.0
 * The signals of the dialog, in its order: mild ones first.
 */
#pragma once

#include <stddef.h>

struct top_signal {
    int number;
    const char *name, *what;
};
extern const struct top_signal top_signals[];
extern const size_t top_signal_count;
