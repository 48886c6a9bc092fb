/* SPDX-License-Identifier: Apache-2.0
 * Replaces lease_signals.c on systems without signals: other processes sweep the files of ended ones.
 */
#include "ask/ask_lease.h"

void lease_taker_set_timeout(const struct lease_taker *t)
{
    (void)t;
}

void lease_taker_handle_signals(const struct lease_taker *t, bool on)
{
    (void)t, (void)on;
}
