/* SPDX-License-Identifier: Apache-2.0
 * What a service tells systemd: sd_notify without its library.
 */
#pragma once

#include <stdint.h>

/* "READY=1", "STATUS=...", "WATCHDOG=1", "STOPPING=1"; several lines at once are fine. Does nothing outside of systemd. */
void sd_notify_send(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "RELOADING=1" with the time that Type=notify-reload wants. */
void sd_notify_reloading(void);
/* How often the watchdog wants to hear from us, in ms: half its limit. 0: there is none. */
int64_t sd_notify_watchdog_ms(void);
