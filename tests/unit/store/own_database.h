/* SPDX-License-Identifier: Apache-2.0
 * A database of its own for each test program, on the server that they share: some run side by side.
 */
#pragma once

#include <stdio.h>

#include "test.h"

/* Its URL; NULL where WHIRR_TEST_POSTGRES names no server. Made anew at the first call. */
static inline const char *own_database(const char *name)
{
    static char url[512];
    const char *server = getenv("WHIRR_TEST_POSTGRES"), *options = server ? strchr(server, '?') : NULL;
    if (!options || url[0])
        return options ? url : NULL;
    char command[1024];
    snprintf(command, sizeof command,
             "psql -X -q -v ON_ERROR_STOP=1 '%s' -c 'DROP DATABASE IF EXISTS %s' -c 'CREATE DATABASE %s' 2>&1", server, name, name);
    assert_int_equal(system(command), 0);
    const char *slash = options;
    while (slash > server && *slash != '/')
        slash--;
    snprintf(url, sizeof url, "%.*s/%s%s", (int)(slash - server), server, name, options);
    return url;
}
