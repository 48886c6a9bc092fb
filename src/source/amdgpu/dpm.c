/* SPDX-License-Identifier: Apache-2.0
 * Reads tables of clock states. Seen in the wild: a leading "S:" row for deep sleep, the current clock put in as a row out of
 * order, several stars, no star, "0Mhz *" while the clock runs, and files that hold a newline only.
 */
#include "source/amdgpu/amdgpu_read.h"

#include "source/sysfs/sysfs_card.h"

enum { MHZ_MAX = 100000 };

struct row {
    bool starred, deep_sleep;
    struct str value; /* after the colon, without the star */
};

static bool next_row(struct str *rest, struct row *row)
{
    struct str line, number;
    while (str_cut(rest, '\n', &line)) {
        struct str value = line;
        if (!str_cut(&value, ':', &number))
            continue;
        number = str_trim(number);
        value = str_trim(value);
        if (number.len == 0 || value.len == 0)
            continue;
        *row = (struct row){.deep_sleep = str_is(number, "S"), .starred = str_ends(value, "*")};
        row->value = str_trim((struct str){value.at, value.len - row->starred});
        return true;
    }
    return false;
}

static bool parse_mhz(struct str value, int64_t *ret)
{
    size_t digits = 0;
    while (digits < value.len && value.at[digits] >= '0' && value.at[digits] <= '9')
        digits++;
    struct str unit = str_trim((struct str){value.at + digits, value.len - digits});
    if (!str_is(unit, "Mhz") && !str_is(unit, "MHz"))
        return false;
    return str_to_i64((struct str){value.at, digits}, ret) && *ret <= MHZ_MAX;
}

void dpm_parse_clock(struct str text, struct dpm_clock *ret)
{
    *ret = (struct dpm_clock){reading_absent(READING_UNSUPPORTED), reading_absent(READING_UNSUPPORTED)};
    struct row row;
    int64_t mhz, now = -1;
    bool agree = true;
    while (next_row(&text, &row)) {
        if (!parse_mhz(row.value, &mhz))
            continue;
        if (!row.deep_sleep && mhz > 0 && mhz * 1000 > reading_or(ret->max_khz, 0))
            ret->max_khz = reading_ok(mhz * 1000);
        if (!row.starred)
            continue;
        agree = agree && (now < 0 || now == mhz);
        now = mhz;
    }
    if (agree && now >= 0)
        ret->now_khz = reading_ok(now * 1000);
}

/* "16.0GT/s, x16 619Mhz" */
static bool parse_link(struct str value, int *generation, int64_t *width)
{
    struct str speed, lanes;
    if (!str_cut(&value, ',', &speed) || !str_word(&value, &lanes) || !str_starts(lanes, "x"))
        return false;
    *generation = pcie_generation(speed);
    return *generation && str_to_i64((struct str){lanes.at + 1, lanes.len - 1}, width) && *width >= 1 && *width <= 32;
}

void dpm_parse_link(struct str text, struct dpm_link *ret)
{
    struct reading none = reading_absent(READING_UNSUPPORTED);
    *ret = (struct dpm_link){none, none, none, none};
    struct row row;
    int generation, now_generation = 0;
    int64_t width, now_width = 0;
    bool agree = true;
    while (next_row(&text, &row)) {
        if (!parse_link(row.value, &generation, &width))
            continue;
        if (generation > reading_or(ret->generation_max, 0))
            ret->generation_max = reading_ok(generation);
        if (width > reading_or(ret->width_max, 0))
            ret->width_max = reading_ok(width);
        if (!row.starred)
            continue;
        agree = agree && (!now_generation || (now_generation == generation && now_width == width));
        now_generation = generation;
        now_width = width;
    }
    if (agree && now_generation) {
        ret->generation = reading_ok(now_generation);
        ret->width = reading_ok(now_width);
    }
}
