/* SPDX-License-Identifier: Apache-2.0
 * For systems where programs set up the service, or there is none: no steps besides.
 */
#include "cli/setup/setup_service.h"

int setup_service_step(const struct plan_command *c, struct error *err)
{
    (void)c, (void)err;
    return 1;
}

void setup_service_done(const struct plan *p, struct buf *out)
{
    (void)p, (void)out;
}

void setup_service_undone(struct buf *out)
{
    (void)out;
}
