/* SPDX-License-Identifier: Apache-2.0
 * The entry point: converts arguments to UTF-8 and sets streams to binary, without newline translation.
 */
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>

#include "port/windows/internal.h"

int main(int argc, char **argv);
int wmain(int argc, wchar_t **argv);

int wmain(int argc, wchar_t **argv)
{
    char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    /* Never load libraries from the current directory, nor from PATH unless asked to. */
    SetDllDirectoryW(L"");
    SetDefaultDllDirectories(LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    console_start();
    for (int fd = 0; fd < 3; fd++)
        _setmode(fd, _O_BINARY);
    for (int i = 0; arguments && i < argc; i++) {
        int size = WideCharToMultiByte(CP_UTF8, 0, argv[i], -1, NULL, 0, NULL, NULL);
        arguments[i] = malloc((size_t)size);
        if (!arguments[i] || !utf8_from(argv[i], arguments[i], (size_t)size))
            return 1;
    }
    return arguments ? main(argc, arguments) : 1;
}
