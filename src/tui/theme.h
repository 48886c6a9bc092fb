/* SPDX-License-Identifier: Apache-2.0
 * Themes: colors for meanings, in 16, 256 and 16 million colors.
 */
#pragma once

#include <stdint.h>

#include "tui/canvas.h"

struct theme_color {
    int8_t basic;    /* 0 to 15; -1: the terminal's default */
    int16_t indexed; /* 0 to 255; -1 */
    int32_t rgb;     /* 0xrrggbb; -1 */
};

struct theme {
    const char *name;
    struct theme_color color[TINT_COUNT];
};

const struct theme *theme_find(const char *name); /* an unknown name gives the default */
const char *theme_after(const char *name);
/* All names, NULL-terminated. */
extern const char *const theme_names[];
