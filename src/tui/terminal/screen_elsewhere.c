/* SPDX-License-Identifier: Apache-2.0
 * Where there is no curses: no screen can be opened. In the place of curses_screen.c.
 */
#include "tui/terminal/screen.h"

#include <errno.h>

int screen_load(struct error *err)
{
    return error_set(err, -ENOSYS, "'whirr top' draws on no terminal of this system yet");
}

int screen_open(bool utf8, bool color, bool direct, const char *theme, bool mouse)
{
    (void)utf8, (void)color, (void)direct, (void)theme, (void)mouse;
    return -ENOTTY;
}

void screen_close(void)
{
}

void screen_theme(const char *name)
{
    (void)name;
}

void screen_size(int *width, int *height)
{
    *width = *height = 0;
}

void screen_show(const struct canvas *c)
{
    (void)c;
}

void screen_redraw(void)
{
}

struct screen_event screen_next(void)
{
    return (struct screen_event){.kind = SCREEN_NOTHING};
}

void screen_copy(const char *text)
{
    (void)text;
}

void screen_stop(void)
{
}

int screen_signal(void)
{
    return 0;
}

bool screen_wants_stop(void)
{
    return false;
}

bool screen_wait(const int *news, size_t count, int timeout_ms)
{
    (void)news, (void)count, (void)timeout_ms;
    return false;
}
