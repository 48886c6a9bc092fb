/* SPDX-License-Identifier: Apache-2.0
 * Name and version of the system.
 */
#pragma once

struct utsname {
    char sysname[64], nodename[128], release[64], version[64], machine[64];
};
int uname(struct utsname *ret);
