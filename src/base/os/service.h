/* SPDX-License-Identifier: Apache-2.0
 * A daemon under a service manager that the program must cooperate with: a Windows service. Other systems use signals and
 * sd_notify.
 */
#pragma once

#include "base/error.h"

typedef int service_body(void *user); /* returns an exit status */

#ifdef _WIN32
/* Runs `body` as a service if the service manager started this program, else directly. Returns the exit status. */
int service_run(service_body *body, void *user);
/* Report that the service is ready, or about to end. No-ops outside a service. */
void service_is_ready(void);
void service_is_stopping(void);
/* Call now and then: rotates the log so that it can't fill the disk. */
void service_tend(void);

/* Installs the service with this program's path, or updates an existing one. Needs an administrator. */
int service_create(struct error *err);
/* Starts or restarts it, and waits until it is ready. */
int service_start(struct error *err);
/* Stops and removes it but keeps its files. -ENOENT: not installed. */
int service_remove(struct error *err);
/* Whether only administrators can write the service's directory. A missing one is fine. */
int service_check_folder(struct error *err);
#else
static inline int service_run(service_body *body, void *user)
{
    return body(user);
}
#endif
