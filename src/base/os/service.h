/* SPDX-License-Identifier: Apache-2.0
 * A daemon that the system starts and stops, where a program has to take part in that: a service of Windows. Elsewhere signals and
 * sd_notify do.
 */
#pragma once

#include "base/error.h"

typedef int service_body(void *user); /* returns an exit status */

#ifdef _WIN32
/* As the service that the system has started this program as; right here, where it was started otherwise. The exit status. */
int service_run(service_body *body, void *user);
/* Of the service that runs: it answers; it is about to end. Nothing happens outside of one. */
void service_is_ready(void);
void service_is_stopping(void);
/* Now and then: what it has said must not fill the disk. */
void service_tend(void);

/* For an administrator, with the program's own path. An older one of that name is changed. */
int service_create(struct error *err);
/* Starts it, anew if it runs, and waits until it answers. */
int service_start(struct error *err);
/* Stops it and takes it away; its files stay. -ENOENT: there is none. */
int service_remove(struct error *err);
/* Whether the folder of the service's files is one that only administrators write. One that is not there is fine. */
int service_check_folder(struct error *err);
#else
static inline int service_run(service_body *body, void *user)
{
    return body(user);
}
#endif
