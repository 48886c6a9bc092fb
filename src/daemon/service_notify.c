/* SPDX-License-Identifier: Apache-2.0
 * Replaces sd_notify.c on Windows: reports to the service control manager.
 */
#include <string.h>

#include "base/os/service.h"
#include "daemon/daemon.h"

void sd_notify_send(const char *format, ...)
{
    if (strncmp(format, "READY=1", 7) == 0)
        service_is_ready();
    else if (strncmp(format, "STOPPING=1", 10) == 0)
        service_is_stopping();
    else
        service_tend();
}

void sd_notify_reloading(void)
{
}

int64_t sd_notify_watchdog_ms(void)
{
    return 0;
}
