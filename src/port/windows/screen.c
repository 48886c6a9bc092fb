/* SPDX-License-Identifier: Apache-2.0
 * A console as a screen. From Windows 10 on it understands escape sequences; older ones get character cells in a screen buffer of
 * their own. Keys arrive as records.
 */
#include "port/windows/screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "port/windows/internal.h"

enum { SOCKETS_MAX = MAXIMUM_WAIT_OBJECTS - 1, KEY_ALT = 0x12 };

static HANDLE input, output;
static HANDLE cells; /* the screen buffer of a console without sequences, else NULL */
static WORD own_colors;
static DWORD input_before, output_before;
static volatile bool is_open;
static const char *at_end = "";

static LONG WINAPI on_crash(EXCEPTION_POINTERS *what)
{
    (void)what;
    console_end();
    return EXCEPTION_CONTINUE_SEARCH;
}

static COORD cursor(void)
{
    CONSOLE_SCREEN_BUFFER_INFO info = {0};
    GetConsoleScreenBufferInfo(output, &info);
    return info.dwCursorPosition;
}

/* Some consoles accept the mode but print the sequences: one without effect must not move the cursor. */
static bool takes_sequences(void)
{
    static const char nothing[] = "\033[m", wiped[] = "\r   \r";
    COORD before = cursor();
    console_write(nothing, sizeof nothing - 1);
    bool taken = cursor().X == before.X;
    if (!taken && before.X == 0)
        console_write(wiped, sizeof wiped - 1);
    return taken;
}

static bool begin_sequences(void)
{
    DWORD out = ENABLE_PROCESSED_OUTPUT | ENABLE_WRAP_AT_EOL_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING;
    if ((SetConsoleMode(output, out | DISABLE_NEWLINE_AUTO_RETURN) || SetConsoleMode(output, out)) && takes_sequences())
        return true;
    SetConsoleMode(output, output_before);
    return false;
}

static bool begin_cells(void)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    const CONSOLE_CURSOR_INFO no_cursor = {.dwSize = 1};
    if (!GetConsoleScreenBufferInfo(output, &info))
        return false;
    own_colors = info.wAttributes;
    HANDLE screen = CreateConsoleScreenBuffer(GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                                              CONSOLE_TEXTMODE_BUFFER, NULL);
    if (screen == INVALID_HANDLE_VALUE)
        return false;
    if (!SetConsoleActiveScreenBuffer(screen)) {
        CloseHandle(screen);
        return false;
    }
    SetConsoleCursorInfo(screen, &no_cursor);
    SetStdHandle(STD_OUTPUT_HANDLE, screen); /* it follows the window's size from now on */
    cells = screen;
    return true;
}

int console_begin(bool mouse, const char *restore)
{
    input = GetStdHandle(STD_INPUT_HANDLE);
    output = GetStdHandle(STD_OUTPUT_HANDLE);
    /* Read Ctrl+C as a key, and no mouse selection, which would block output. */
    DWORD in = ENABLE_WINDOW_INPUT | ENABLE_EXTENDED_FLAGS | (mouse ? ENABLE_MOUSE_INPUT : ENABLE_QUICK_EDIT_MODE);
    if (!GetConsoleMode(input, &input_before) || !GetConsoleMode(output, &output_before) || !SetConsoleMode(input, in))
        return -ENOTTY;
    if (!begin_sequences() && !begin_cells()) {
        SetConsoleMode(input, input_before);
        return -ENOTTY;
    }
    at_end = restore;
    is_open = true;
    SetUnhandledExceptionFilter(on_crash);
    return cells ? CONSOLE_CELLS : CONSOLE_SEQUENCES;
}

void console_end(void)
{
    if (!is_open)
        return;
    is_open = false;
    if (cells) {
        SetStdHandle(STD_OUTPUT_HANDLE, output);
        SetConsoleActiveScreenBuffer(output);
        CloseHandle(cells);
        cells = NULL;
    } else {
        console_write(at_end, strlen(at_end));
    }
    SetConsoleMode(input, input_before);
    SetConsoleMode(output, output_before);
}

/* ---- cells ---- */

/* Terminals order red, green, blue from the lowest bit, consoles from the highest. */
static WORD look_of(const struct console_cell *c)
{
    enum { FOREGROUND = 0x0f, BACKGROUND = 0xf0, BACKGROUND_SHIFT = 4 };
    WORD look = own_colors & (FOREGROUND | BACKGROUND);
    if (c->color >= 0)
        look = (WORD)((look & BACKGROUND) | (c->color & 1 ? FOREGROUND_RED : 0) | (c->color & 2 ? FOREGROUND_GREEN : 0) |
                      (c->color & 4 ? FOREGROUND_BLUE : 0) | (c->color & 8 ? FOREGROUND_INTENSITY : 0));
    return c->reverse ? (WORD)((look & FOREGROUND) << BACKGROUND_SHIFT | (look & BACKGROUND) >> BACKGROUND_SHIFT) : look;
}

static CHAR_INFO info_of(const struct console_cell *c, const struct console_cell *next)
{
    enum { UNITS_END = 0x10000, UNKNOWN = 0xfffd };
    CHAR_INFO info = {.Attributes = look_of(c)};
    info.Char.UnicodeChar = (WCHAR)(c->glyph < UNITS_END ? c->glyph : UNKNOWN);
    if (!c->glyph) {
        info.Char.UnicodeChar = c[-1].glyph < UNITS_END ? (WCHAR)c[-1].glyph : L' ';
        info.Attributes |= COMMON_LVB_TRAILING_BYTE;
    } else if (next && !next->glyph) {
        info.Attributes |= COMMON_LVB_LEADING_BYTE;
    }
    return info;
}

void console_show(const struct console_cell *shown, int width, int height)
{
    CONSOLE_SCREEN_BUFFER_INFO window;
    CHAR_INFO *infos = calloc((size_t)width * (size_t)height, sizeof *infos);
    if (infos && cells && GetConsoleScreenBufferInfo(cells, &window)) {
        int count = width * height;
        for (int i = 0; i < count; i++)
            infos[i] = info_of(&shown[i], i + 1 < count ? &shown[i + 1] : NULL);
        SMALL_RECT to = {window.srWindow.Left, window.srWindow.Top, (SHORT)(window.srWindow.Left + width - 1),
                         (SHORT)(window.srWindow.Top + height - 1)};
        WriteConsoleOutputW(cells, infos, (COORD){(SHORT)width, (SHORT)height}, (COORD){0, 0}, &to);
    }
    free(infos);
}

/* ---- input ---- */

/* Windows signals sockets by events. Reports already readable ones at once. */
static DWORD watch_sockets(const int *sockets, size_t count, HANDLE *handles)
{
    DWORD used = 0;
    for (size_t i = 0; i < count && used < SOCKETS_MAX; i++) {
        WSAEVENT event = sockets[i] < 0 ? WSA_INVALID_EVENT : WSACreateEvent();
        if (event == WSA_INVALID_EVENT)
            continue;
        WSAEventSelect((SOCKET)sockets[i], event, FD_READ | FD_CLOSE);
        handles[used++] = event;
    }
    return used;
}

bool console_wait(const int *sockets, size_t count, int timeout_ms)
{
    HANDLE handles[MAXIMUM_WAIT_OBJECTS] = {input};
    DWORD used = 1 + watch_sockets(sockets, count, handles + 1);
    DWORD result = WaitForMultipleObjects(used, handles, FALSE, (DWORD)timeout_ms);
    for (size_t i = 0; i < count; i++)
        if (sockets[i] >= 0)
            WSAEventSelect((SOCKET)sockets[i], NULL, 0);
    for (DWORD i = 1; i < used; i++)
        WSACloseEvent(handles[i]);
    return result != WAIT_FAILED;
}

size_t console_pending(void)
{
    DWORD count = 0;
    return GetNumberOfConsoleInputEvents(input, &count) ? count : 0;
}

static struct console_event key_event(const KEY_EVENT_RECORD *r)
{
    /* A character typed as Alt+digits arrives when Alt is released. */
    if (!r->bKeyDown && !(r->wVirtualKeyCode == KEY_ALT && r->uChar.UnicodeChar))
        return (struct console_event){0};
    return (struct console_event){.kind = CONSOLE_KEY,
                                  .key = r->bKeyDown ? r->wVirtualKeyCode : 0,
                                  .unit = r->uChar.UnicodeChar,
                                  .shift = r->dwControlKeyState & SHIFT_PRESSED};
}

static struct console_event mouse_event(const MOUSE_EVENT_RECORD *r)
{
    CONSOLE_SCREEN_BUFFER_INFO info = {0};
    GetConsoleScreenBufferInfo(cells ? cells : output, &info);
    bool wheel = r->dwEventFlags & MOUSE_WHEELED;
    return (struct console_event){.kind = CONSOLE_MOUSE,
                                  .pressed = !wheel && r->dwButtonState & FROM_LEFT_1ST_BUTTON_PRESSED,
                                  .moved = r->dwEventFlags & MOUSE_MOVED,
                                  .wheel = wheel ? (short)HIWORD(r->dwButtonState) : 0,
                                  .x = r->dwMousePosition.X - info.srWindow.Left,
                                  .y = r->dwMousePosition.Y - info.srWindow.Top};
}

struct console_event console_next(void)
{
    INPUT_RECORD record;
    DWORD read;
    while (console_pending() && ReadConsoleInputW(input, &record, 1, &read) && read) {
        struct console_event e = {0};
        if (record.EventType == KEY_EVENT)
            e = key_event(&record.Event.KeyEvent);
        else if (record.EventType == MOUSE_EVENT)
            e = mouse_event(&record.Event.MouseEvent);
        else if (record.EventType == WINDOW_BUFFER_SIZE_EVENT)
            e.kind = CONSOLE_RESIZED;
        if (e.kind != CONSOLE_NOTHING)
            return e;
    }
    return (struct console_event){0};
}
