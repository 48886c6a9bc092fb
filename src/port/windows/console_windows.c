/* SPDX-License-Identifier: Apache-2.0
 * The console window. It gets UTF-16, whatever its code page, and understands escape sequences from Windows 10 on. Pipes and files
 * get UTF-8 if the code page, LC_ALL or LANG says so.
 */
#include "base/os/console.h"

#include <errno.h>
#include <io.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "port/windows/internal.h"
#include "port/windows/screen.h"

enum { UNITS_MAX = 8192, LINE_UNITS = 2048 };

static HANDLE output(void)
{
    return GetStdHandle(STD_OUTPUT_HANDLE);
}

static bool is_console(HANDLE handle)
{
    DWORD mode;
    return GetConsoleMode(handle, &mode);
}

int posix_isatty(int fd)
{
    return is_console((HANDLE)_get_osfhandle(fd));
}

bool console_size(int *columns, int *rows)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (!GetConsoleScreenBufferInfo(output(), &info))
        return false;
    *columns = info.srWindow.Right - info.srWindow.Left + 1;
    *rows = info.srWindow.Bottom - info.srWindow.Top + 1;
    return true;
}

/* Messages are UTF-8; restore the code page at exit. */
static UINT page_before;

void console_lend(void)
{
    if (page_before && page_before != CP_UTF8)
        SetConsoleOutputCP(page_before);
}

void console_start(void)
{
    page_before = GetConsoleOutputCP();
    if (page_before && page_before != CP_UTF8 && is_console(GetStdHandle(STD_ERROR_HANDLE)) && SetConsoleOutputCP(CP_UTF8))
        atexit(console_lend);
}

void posix_exit_now(int code)
{
    console_lend();
#undef _exit
    _exit(code);
}

bool console_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return is_console(output()) || page_before == CP_UTF8;
}

bool console_takes_sequences(void)
{
    DWORD mode;
    return GetConsoleMode(output(), &mode) &&
           (mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING || SetConsoleMode(output(), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING));
}

/* The last character boundary within `most` bytes. */
static size_t whole(const char *text, size_t len, size_t most)
{
    if (len <= most)
        return len;
    while (most > 1 && (text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

static void write_to(HANDLE console, const char *text, size_t len)
{
    wchar_t units[UNITS_MAX]; /* each UTF-8 byte yields at most one unit */
    while (len) {
        size_t part = whole(text, len, UNITS_MAX);
        int count = MultiByteToWideChar(CP_UTF8, 0, text, (int)part, units, UNITS_MAX);
        DWORD written;
        for (int at = 0; at < count; at += (int)written)
            if (!WriteConsoleW(console, units + at, (DWORD)(count - at), &written, NULL) || !written)
                return; /* the window is gone */
        text += part;
        len -= part;
    }
}

void console_write(const char *text, size_t len)
{
    write_to(output(), text, len);
}

/* To stderr; false: not a console. */
static bool console_message(const char *text, size_t len)
{
    HANDLE console = GetStdHandle(STD_ERROR_HANDLE);
    if (!is_console(console))
        return false;
    write_to(console, text, len);
    return true;
}

ssize_t console_out(const char *text, size_t len)
{
    if (!is_console(output())) {
        int put = write(STDOUT_FILENO, text, len < INT_MAX ? (unsigned)len : INT_MAX);
        if (put < 0 && errno == EINVAL) /* the C library's error for a pipe without a reader */
            errno = EPIPE;
        return put;
    }
    console_write(text, len);
    return (ssize_t)len;
}

bool console_line(char *line, size_t size)
{
    HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
    wchar_t units[LINE_UNITS];
    DWORD read = 0;
    if (!is_console(input))
        return fgets(line, (int)size, stdin);
    if (!ReadConsoleW(input, units, LINE_UNITS - 1, &read, NULL) || !read || units[0] == 0x1a) /* Ctrl+Z: end of input */
        return false;
    units[read] = L'\0';
    return utf8_from(units, line, size);
}

bool console_secret(const char *prompt, char *line, size_t size)
{
    HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
    DWORD mode;
    bool changed = GetConsoleMode(input, &mode) && SetConsoleMode(input, mode & ~(DWORD)ENABLE_ECHO_INPUT);
    fputs(prompt, stderr);
    fflush(stderr);
    bool read = console_line(line, size);
    if (changed)
        SetConsoleMode(input, mode);
    return read;
}

/* ---- messages, in one piece: the C library writes to an unbuffered stream byte by byte, and a console would show each separately
 * ---- */

int posix_vfprintf(FILE *to, const char *format, va_list args)
{
    char small[1024], *text = small;
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(small, sizeof small, format, args);
    if (len >= (int)sizeof small) {
        text = malloc((size_t)len + 1);
        len = text ? vsnprintf(text, (size_t)len + 1, format, again) : -1;
    }
    va_end(again);
    bool shown = len > 0 && to == stderr && console_message(text, (size_t)len);
    if (len > 0 && !shown && fwrite(text, 1, (size_t)len, to) != (size_t)len)
        len = -1;
    if (text != small)
        free(text);
    return len;
}

int posix_fprintf(FILE *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = posix_vfprintf(to, format, args);
    va_end(args);
    return len;
}
