/* SPDX-License-Identifier: Apache-2.0
 * The console of Windows 10 and later: sequences out, records in.
 */
#include "base/os/windows/screen.h"

#include <errno.h>
#include <string.h>

#include "base/os/windows/internal.h"

enum { SOCKETS_MAX = MAXIMUM_WAIT_OBJECTS - 1, KEY_ALT = 0x12 };

static HANDLE input, output;
static DWORD input_before, output_before;
static volatile bool is_open;
static const char *at_end = "";

static LONG WINAPI on_crash(EXCEPTION_POINTERS *what)
{
    (void)what;
    console_end();
    return EXCEPTION_CONTINUE_SEARCH;
}

int console_begin(bool mouse, const char *restore)
{
    input = GetStdHandle(STD_INPUT_HANDLE);
    output = GetStdHandle(STD_OUTPUT_HANDLE);
    /* Ctrl+C is a key here, and a selection by the mouse would hold the output. */
    DWORD in = ENABLE_WINDOW_INPUT | ENABLE_EXTENDED_FLAGS | (mouse ? ENABLE_MOUSE_INPUT : ENABLE_QUICK_EDIT_MODE);
    DWORD out = ENABLE_PROCESSED_OUTPUT | ENABLE_WRAP_AT_EOL_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING;
    if (!GetConsoleMode(input, &input_before) || !GetConsoleMode(output, &output_before))
        return -ENOTTY;
    if (!SetConsoleMode(output, out | DISABLE_NEWLINE_AUTO_RETURN) && !SetConsoleMode(output, out))
        return -ENOTTY;
    if (!SetConsoleMode(input, in)) {
        SetConsoleMode(output, output_before);
        return -ENOTTY;
    }
    at_end = restore;
    is_open = true;
    SetUnhandledExceptionFilter(on_crash);
    return 0;
}

void console_end(void)
{
    if (!is_open)
        return;
    is_open = false;
    console_write(at_end, strlen(at_end));
    SetConsoleMode(input, input_before);
    SetConsoleMode(output, output_before);
}

/* ---- input ---- */

/* Windows tells of sockets by events. What is readable already is told at once. */
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
    /* A character that was composed with Alt and digits comes when Alt goes up. */
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
    GetConsoleScreenBufferInfo(output, &info);
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
