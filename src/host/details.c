/* SPDX-License-Identifier: Apache-2.0
 * Formats the details of one process for the person who asks: cleaned, with secrets masked. Reads nothing.
 */
#include <errno.h>

#include "base/os/words.h"
#include "base/secret/mask.h"
#include "host/identity.h"

enum { LINE_SIZE = 4096, VARIABLES_MAX = 1024 };

void details_add(struct buf *out, const char *label, const char *text)
{
    char clean[LINE_SIZE];
    str_copy_clean(clean, sizeof clean, str_from(text));
    buf_printf(out, "%s\t%s\n", label, clean);
}

/* Why procfs(5) hides something from this user. */
const char *details_refusal(int64_t error)
{
    if (error == -ENOSYS)
        return "this system does not show it";
    return error == -EACCES || error == -EPERM ? "only its user and " WORD_ADMINISTRATOR " can read it" : "could not be read";
}

void details_add_command(struct buf *out, const struct str *args, size_t count, bool show_secrets)
{
    char line[LINE_SIZE] = "";
    if (show_secrets)
        command_join(args, count, line, sizeof line);
    else
        mask_arguments(args, count, line, sizeof line);
    details_add(out, "Command", line);
}

void details_add_environment(struct buf *out, struct str variables, bool show_secrets)
{
    struct str variable;
    const char *label = "Environment";
    for (int i = 0; i < VARIABLES_MAX && str_cut(&variables, '\0', &variable); i++) {
        char line[LINE_SIZE];
        if (!variable.len)
            continue;
        if (show_secrets)
            str_copy_clean(line, sizeof line, variable);
        else
            mask_arguments(&variable, 1, line, sizeof line);
        details_add(out, label, line);
        label = "";
    }
}
