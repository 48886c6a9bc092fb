/* SPDX-License-Identifier: Apache-2.0
 * For systems where setup creates no service (macOS): says what does instead.
 */
#include <errno.h>
#include <string.h>

#include "cli/setup/plan.h"

#define KINDS                                                                         \
    {                                                                                 \
        {"no"}, "no (`brew services start whirr-macos` makes a service)",             \
            "Run whirr as a service? (no; `brew services start whirr-macos` does it)" \
    }

static int add_service(struct plan *p, const char *kind, struct error *err)
{
    (void)p;
    return strcmp(kind, "no") == 0 ? 0 : error_set(err, -ENOSYS, "%s", setup_service.needs_root);
}

const struct setup_service setup_service = {
    .of_user = KINDS,
    .of_root = KINDS,
    .needs_root = "whirr setup can't install a service on this system yet: brew services start whirr-macos",
    .add = add_service,
};
