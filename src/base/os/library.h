/* SPDX-License-Identifier: Apache-2.0
 * Libraries that are loaded late: what only the loader of a system can do. The rest is in base/env.h.
 */
#pragma once

/* NULL: it has none of that name. */
void *library_symbol(void *library, const char *name);

/* Its large tables are filled at once by this program, which ends soon: asks for memory that is cheap to fill. */
void library_fill_faster(void *library);
/* The library that this is a part of is not unloaded before the program ends. */
void library_stay(const void *part);
