/* SPDX-License-Identifier: Apache-2.0
 * Replaces holder.c and watchdog.c on systems where whirr changes no GPU settings.
 */
#include <errno.h>

#include "control/control.h"

int holder_open(struct settings_holder *k, const struct env *env, const char *lease_dir, int watchdog, struct error *err)
{
    (void)k, (void)env, (void)lease_dir, (void)watchdog;
    return error_set(err, -ENOSYS, "whirr doesn't change settings of GPUs on this system yet");
}

void holder_close(struct settings_holder *k)
{
    (void)k;
}

int holder_begin(struct settings_holder *k, struct lease *l, bool bound, struct error *err)
{
    (void)l, (void)bound;
    return holder_open(k, NULL, NULL, -1, err);
}

int holder_lock(struct settings_holder *k, struct error *err)
{
    return holder_open(k, NULL, NULL, -1, err);
}

int watchdog_run(const struct env *env, const char *lease_dir)
{
    (void)env, (void)lease_dir;
    return -ENOSYS;
}
