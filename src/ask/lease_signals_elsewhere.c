/* SPDX-License-Identifier: Apache-2.0
 * Where no signal ends a program: the file of one that went is found by others, as nobody holds it. In the place of lease_signals.c.
 */
#include "ask/lease.h"

void lease_taker_handle_signals(const struct lease_taker *t, bool on)
{
    (void)t, (void)on;
}
