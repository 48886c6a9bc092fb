/* SPDX-License-Identifier: Apache-2.0
 * What the system calls itself.
 */
#pragma once

struct utsname {
    char sysname[64], nodename[128], release[64], version[64], machine[64];
};
int uname(struct utsname *ret);
