/* SPDX-License-Identifier: Apache-2.0
 * Details of one process, and user names by number, on a system with calls.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "host/calls/calls.h"
#include "host/identity.h"
#include "host/procfs.h"

enum { TEXT_SIZE = 64 << 10, DIRECTORY_SIZE = 1024, DETAILS_ENVIRON_MAX = 256 << 10 };

static const char *why_not(int rc)
{
    return rc == -EACCES || rc == -EPERM ? "only its user and an administrator can read it" : details_refusal(rc);
}

int process_details(const struct env *env, int32_t pid, int64_t start_key, bool show_secrets, struct buf *out)
{
    const struct system_calls *calls = calls_of(env);
    struct calls_process p = {0};
    int rc = CALL(calls, process, pid, &p);
    if (rc < 0 || (start_key && p.start_key != start_key))
        return rc < 0 && rc != -ENOENT ? rc : -ESRCH;
    AUTO_FREE char *text = malloc(TEXT_SIZE);
    AUTO_BUF struct buf environment = BUF(DETAILS_ENVIRON_MAX);
    char directory[DIRECTORY_SIZE];
    struct str args[ARGUMENTS_MAX];
    if (!text)
        return -ENOMEM;
    rc = CALL(calls, arguments, pid, text, TEXT_SIZE);
    if (rc > 0)
        details_add_command(out, args, arguments_of((struct str){text, (size_t)rc}, args, ARGUMENTS_MAX), show_secrets);
    else
        details_add(out, "Command", why_not(rc));
    if (CALL(calls, directory, pid, directory, sizeof directory) >= 0)
        details_add(out, "Directory", directory);
    rc = CALL(calls, environment, pid, &environment);
    if (rc >= 0 && environment.len)
        details_add_environment(out, buf_view(&environment), show_secrets);
    else
        details_add(out, "Environment", rc >= 0 ? "empty" : why_not(rc));
    return out->failed ? -ENOMEM : 0;
}

bool users_look_up(const struct env *env, int64_t uid, char name[USER_NAME_SIZE])
{
    return CALL(calls_of(env), user_name, uid, name, USER_NAME_SIZE) >= 0;
}
