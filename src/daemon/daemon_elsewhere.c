/* SPDX-License-Identifier: Apache-2.0
 * Replaces sandbox.c on systems that lack these mechanisms.
 */
#include <errno.h>
#include <stdio.h>

#include "daemon/sandbox.h"

void sandbox_daemon(const struct config *config, struct outside *outside, struct sandbox *ret)
{
    (void)config;
    *ret = (struct sandbox){0};
    outside->channel = -1;
    snprintf(ret->reason, sizeof ret->reason, "whirr does not confine itself on this system");
}

bool sandbox_finds_new_program(const struct config *config, const struct outside *outside, char *name, size_t size)
{
    (void)config, (void)outside, (void)name, (void)size;
    return false;
}

int sandbox_writes(const char *const *places, size_t count)
{
    (void)places, (void)count;
    return -ENOSYS;
}

int sandbox_calls(void)
{
    return -ENOSYS;
}

int privileges_drop(void)
{
    return 0;
}
