/* SPDX-License-Identifier: Apache-2.0
 * GNU's string and memory functions.
 */
#pragma once

#include_next <string.h>
#include <strings.h>

#include "port/gnu/text_gnu.h"

#define memrchr gnu_memrchr
#define mempcpy gnu_mempcpy
#define strchrnul gnu_strchrnul /* macOS has it from 15.4 on */
#define strverscmp gnu_strverscmp
