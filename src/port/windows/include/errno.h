/* SPDX-License-Identifier: Apache-2.0
 * Error codes of Linux that Windows lacks; they never leave the program.
 */
#pragma once

#include_next <errno.h>

#ifndef EUCLEAN
#define EUCLEAN 217
#endif
#ifndef EREMOTEIO
#define EREMOTEIO 221
#endif
#ifndef ESTALE
#define ESTALE 216
#endif
#ifndef EHOSTDOWN
#define EHOSTDOWN 212
#endif
#ifndef ESHUTDOWN
#define ESHUTDOWN 208
#endif
#ifndef EKEYREJECTED
#define EKEYREJECTED 229
#endif
#ifndef EDQUOT
#define EDQUOT 222
#endif
#ifndef ENOMEDIUM
#define ENOMEDIUM 223
#endif
