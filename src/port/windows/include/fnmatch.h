/* SPDX-License-Identifier: Apache-2.0
 * File name patterns.
 */
#pragma once

enum { FNM_NOMATCH = 1 };
int fnmatch(const char *pattern, const char *name, int flags);
