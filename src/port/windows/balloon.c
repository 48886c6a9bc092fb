/* SPDX-License-Identifier: Apache-2.0
 * Shell_NotifyIcon: unlike toasts, it needs no registration, shortcut or package. The icon belongs to a message-only window, so
 * that broadcasts don't wait for it.
 */
#undef NOUSER
#undef NOGDI
#include <windows.h>
#include <winsock2.h>

#include <shellapi.h>

#include <stdlib.h>
#include <string.h>

#include "port/windows/balloon.h"
#include "port/windows/internal.h"

struct balloon {
    HWND window;
    NOTIFYICONDATAW icon;
};

struct balloon *balloon_new(void)
{
    struct balloon *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->window = CreateWindowExW(0, L"STATIC", L"whirr", 0, 0, 0, 0, 0, HWND_MESSAGE, NULL, GetModuleHandleW(NULL), NULL);
    b->icon = (NOTIFYICONDATAW){.cbSize = sizeof b->icon,
                                .hWnd = b->window,
                                .uID = 1,
                                .uFlags = NIF_ICON | NIF_TIP,
                                .hIcon = LoadIconW(NULL, MAKEINTRESOURCEW(32512)), /* IDI_APPLICATION */
                                .szTip = L"whirr"};
    if (b->window && Shell_NotifyIconW(NIM_ADD, &b->icon))
        return b;
    balloon_free(b);
    return NULL;
}

void balloon_free(struct balloon *b)
{
    if (!b)
        return;
    if (b->window) {
        Shell_NotifyIconW(NIM_DELETE, &b->icon);
        DestroyWindow(b->window);
    }
    free(b);
}

/* At most `size` UTF-16 units, never splitting a character. */
static void put_text(wchar_t *to, int size, const char *text)
{
    int len = (int)strlen(text), units;
    while ((units = MultiByteToWideChar(CP_UTF8, 0, text, len, NULL, 0)) >= size)
        for (len -= (units - size) / 3 + 1; len > 0 && (text[len] & 0xc0) == 0x80;)
            len--;
    units = MultiByteToWideChar(CP_UTF8, 0, text, len, to, size - 1);
    to[units] = L'\0';
}

bool balloon_show(struct balloon *b, const char *title, const char *body, bool urgent)
{
    b->icon.uFlags = NIF_ICON | NIF_TIP | NIF_INFO;
    b->icon.dwInfoFlags = urgent ? NIIF_ERROR : NIIF_WARNING;
    put_text(b->icon.szInfoTitle, sizeof b->icon.szInfoTitle / sizeof *b->icon.szInfoTitle, title);
    put_text(b->icon.szInfo, sizeof b->icon.szInfo / sizeof *b->icon.szInfo, body);
    return Shell_NotifyIconW(NIM_MODIFY, &b->icon);
}
