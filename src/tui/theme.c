/* SPDX-License-Identifier: Apache-2.0
 * The themes. `blind` uses colors that are distinct for every kind of color vision (Okabe and Ito): orange and vermillion instead
 * of yellow and red, blue instead of green.
 */
#include "tui/theme.h"

#include "base/cleanup.h"

#define OWN        \
    {              \
        -1, -1, -1 \
    }

/* clang-format off */
static const struct theme themes[] = {
    {"default", {
        [TINT_PLAIN] = OWN, [TINT_STRONG] = OWN, [TINT_DIM] = {8, 244, 0x808080},
        [TINT_GOOD] = {2, 71, 0x5faf5f}, [TINT_WARN] = {3, 178, 0xd7af00}, [TINT_BAD] = {1, 203, 0xff5f5f},
        [TINT_LABEL] = {6, 73, 0x5fafaf}, [TINT_UTIL] = {2, 71, 0x5faf5f}, [TINT_MEMORY] = {4, 68, 0x5f87d7},
        [TINT_POWER] = {5, 134, 0xaf5fd7}, [TINT_HEAT] = {3, 173, 0xd7875f}, [TINT_FAN] = {6, 73, 0x5fafaf},
        [TINT_CLOCK] = {7, 109, 0x87afaf},
        [TINT_RAMP] = {8, 239, 0x4e4e4e}, {4, 24, 0x005f87}, {6, 30, 0x008787}, {2, 71, 0x5faf5f}, {2, 107, 0x87af5f},
        {3, 178, 0xd7af00}, {3, 208, 0xff8700}, {1, 203, 0xff5f5f}}},
    {"blind", {
        [TINT_PLAIN] = OWN, [TINT_STRONG] = OWN, [TINT_DIM] = {8, 244, 0x808080},
        [TINT_GOOD] = {6, 74, 0x56b4e9}, [TINT_WARN] = {3, 214, 0xe69f00}, [TINT_BAD] = {5, 166, 0xd55e00},
        [TINT_LABEL] = {6, 74, 0x56b4e9}, [TINT_UTIL] = {6, 74, 0x56b4e9}, [TINT_MEMORY] = {4, 25, 0x0072b2},
        [TINT_POWER] = {5, 175, 0xcc79a7}, [TINT_HEAT] = {3, 214, 0xe69f00}, [TINT_FAN] = {7, 36, 0x009e73},
        [TINT_CLOCK] = {7, 250, 0xbcbcbc},
        [TINT_RAMP] = {8, 236, 0x303030}, {4, 17, 0x00224e}, {4, 24, 0x2a3f6d}, {8, 60, 0x575d6d}, {7, 102, 0x7d7c78},
        {3, 143, 0xa59c74}, {3, 179, 0xd2c060}, {11, 221, 0xfee838}}},
    {"light", {
        [TINT_PLAIN] = OWN, [TINT_STRONG] = OWN, [TINT_DIM] = {8, 243, 0x767676},
        [TINT_GOOD] = {2, 28, 0x008700}, [TINT_WARN] = {3, 130, 0xaf5f00}, [TINT_BAD] = {1, 160, 0xd70000},
        [TINT_LABEL] = {4, 25, 0x005faf}, [TINT_UTIL] = {2, 28, 0x008700}, [TINT_MEMORY] = {4, 25, 0x005faf},
        [TINT_POWER] = {5, 90, 0x870087}, [TINT_HEAT] = {3, 130, 0xaf5f00}, [TINT_FAN] = {6, 30, 0x008787},
        [TINT_CLOCK] = {8, 240, 0x585858},
        [TINT_RAMP] = {7, 252, 0xd0d0d0}, {6, 152, 0xafd7d7}, {6, 73, 0x5fafaf}, {2, 65, 0x5f875f}, {2, 28, 0x008700},
        {3, 136, 0xaf8700}, {3, 166, 0xd75f00}, {1, 160, 0xd70000}}},
    {"mono", {
        [TINT_PLAIN] = OWN, [TINT_STRONG] = OWN, [TINT_DIM] = OWN, [TINT_GOOD] = OWN, [TINT_WARN] = OWN, [TINT_BAD] = OWN,
        [TINT_LABEL] = OWN, [TINT_UTIL] = OWN, [TINT_MEMORY] = OWN, [TINT_POWER] = OWN, [TINT_HEAT] = OWN, [TINT_FAN] = OWN,
        [TINT_CLOCK] = OWN, [TINT_RAMP] = OWN, OWN, OWN, OWN, OWN, OWN, OWN, OWN}},
};
/* clang-format on */

const char *const theme_names[] = {"default", "blind", "light", "mono", NULL};

static size_t position(const char *name)
{
    return NAME_FIND(themes, str_from(name)) % ARRAY_LEN(themes);
}

const struct theme *theme_find(const char *name)
{
    return &themes[position(name)];
}

const char *theme_after(const char *name)
{
    return themes[(position(name) + 1) % ARRAY_LEN(themes)].name;
}
