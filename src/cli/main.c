/* SPDX-License-Identifier: Apache-2.0
 * The program's entry.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cmd_serve.h"

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "serve") == 0)
        return cmd_serve(argc - 1, argv + 1);
    printf("whirr %s\n", WHIRR_VERSION);
    return 0;
}
