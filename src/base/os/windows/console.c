/* SPDX-License-Identifier: Apache-2.0
 * The size of the console window.
 */
#include "base/os/console.h"

#include "base/os/windows/internal.h"

bool console_size(int *columns, int *rows)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &info))
        return false;
    *columns = info.srWindow.Right - info.srWindow.Left + 1;
    *rows = info.srWindow.Bottom - info.srWindow.Top + 1;
    return true;
}
