/* SPDX-License-Identifier: Apache-2.0
 * For systems where setup creates no service (macOS): says what does instead.
 */
#include <errno.h>
#include <string.h>

#include "cli/setup/setup_service.h"

const struct setup_kinds setup_kinds_of_user = {{"no"},
                                                "no (`brew services start whirr-macos` makes a service)",
                                                "Run whirr as a service? (no; `brew services start whirr-macos` does it)"};
const struct setup_kinds setup_kinds_of_root = {{"no"},
                                                "no (`brew services start whirr-macos` makes a service)",
                                                "Run whirr as a service? (no; `brew services start whirr-macos` does it)"};
const char setup_needs_root[] = "whirr setup can't install a service on this system yet: brew services start whirr-macos";

int plan_add_service(struct plan *p, const char *kind, struct error *err)
{
    (void)p;
    return strcmp(kind, "no") == 0 ? 0 : error_set(err, -ENOSYS, "%s", setup_needs_root);
}
