/* SPDX-License-Identifier: Apache-2.0
 * The size of the terminal at the standard output.
 */
#include "base/os/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

bool console_size(int *columns, int *rows)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return false;
    *columns = size.ws_col;
    *rows = size.ws_row;
    return true;
}
