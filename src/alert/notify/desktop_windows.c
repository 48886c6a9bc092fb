/* SPDX-License-Identifier: Apache-2.0
 * Windows notifications: a title and a text without buttons. struct desktop is the notification icon here.
 */
#include "alert/notify/desktop.h"

#include <errno.h>

#include "port/windows/balloon.h"

int desktop_open(const struct env *env, struct desktop **ret, struct error *err)
{
    (void)env;
    *ret = (struct desktop *)balloon_new();
    if (*ret)
        return 0;
    return error_set(err, -ENOMEDIUM,
                     "no desktop session can be reached from here: run `whirr serve` in the session of your user; a Windows "
                     "service has no desktop");
}

void desktop_close(struct desktop *d)
{
    balloon_free((struct balloon *)d);
}

int desktop_show(struct desktop *d, const struct desktop_note *note, struct error *err)
{
    return balloon_show((struct balloon *)d, note->title, note->body, note->urgency > 1)
               ? 0
               : error_set(err, -EPIPE, "the desktop session is over");
}

int desktop_fd(struct desktop *d)
{
    (void)d;
    return -1;
}

void desktop_listen(struct desktop *d)
{
    (void)d;
}
