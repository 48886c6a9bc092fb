/* SPDX-License-Identifier: Apache-2.0
 * Taskbar notifications: the program's own icon, whose text the shell shows as a notification.
 */
#pragma once

#include <stdbool.h>

struct balloon;

struct balloon *balloon_new(void); /* NULL: this session has no desktop, or out of memory */
void balloon_free(struct balloon *b);
/* False: the desktop is gone. Truncates text to the shell's limits. */
bool balloon_show(struct balloon *b, const char *title, const char *body, bool urgent);
