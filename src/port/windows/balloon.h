/* SPDX-License-Identifier: Apache-2.0
 * Notifications of the taskbar: an icon of the program's own, whose text the shell shows as a notification.
 */
#pragma once

#include <stdbool.h>

struct balloon;

struct balloon *balloon_new(void); /* NULL: no desktop can be reached from this session, or out of memory */
void balloon_free(struct balloon *b);
/* false: the desktop has gone. Text is cut to what the shell takes. */
bool balloon_show(struct balloon *b, const char *title, const char *body, bool urgent);
