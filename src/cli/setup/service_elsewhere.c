/* SPDX-License-Identifier: Apache-2.0
 * Where setup makes no service, and says what does: on macOS.
 */
#include <errno.h>
#include <string.h>

#include "cli/setup/service.h"

const struct setup_kinds setup_kinds_of_user = {{"no"},
                                                "no (`brew services start whirr-macos` makes a service)",
                                                "Run whirr as a service? (no; `brew services start whirr-macos` does it)"};
const struct setup_kinds setup_kinds_of_root = {{"no"},
                                                "no (`brew services start whirr-macos` makes a service)",
                                                "Run whirr as a service? (no; `brew services start whirr-macos` does it)"};
const char setup_needs_root[] = "whirr setup makes no service on this system yet: brew services start whirr-macos";

int plan_add_service(struct plan *p, const char *kind, struct error *err)
{
    (void)p;
    return strcmp(kind, "no") == 0 ? 0 : error_set(err, -ENOSYS, "%s", setup_needs_root);
}

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
