/* SPDX-License-Identifier: Apache-2.0
 * Where the program begins: arguments become UTF-8, and what is read and written stays as it is, without other line ends.
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
    /* No library comes from the current directory, nor from one of PATH unless it was asked for. */
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
