/* SPDX-License-Identifier: Apache-2.0
 * Parses cells of nvidia-smi. Accepts units wherever they appear, even with "nounits"; unknown text is a failed reading, never 0.
 */
#include "source/nvidia_smi/nvidia_smi_report.h"

#include <ctype.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "model/metric.h"

/* Texts in place of a value, with or without brackets. */
static const struct {
    const char *text;
    enum reading_state why;
} odd_cells[] = {
    {"", READING_UNSUPPORTED},
    {"N/A", READING_UNSUPPORTED},
    {"Not Supported", READING_UNSUPPORTED},
    {"Not Available", READING_UNSUPPORTED},
    {"Function Not Found", READING_UNSUPPORTED},
    {"Requested functionality has been deprecated", READING_UNSUPPORTED},
    {"Insufficient Permissions", READING_DENIED},
    {"No Permission", READING_DENIED},
    {"Unknown Error", READING_FAILED},
    {"GPU is lost", READING_FAILED},
    {"GPU requires reset", READING_FAILED},
    {"GPU access blocked by the operating system", READING_DENIED},
    {"Timeout", READING_FAILED},
    {"ERR!", READING_FAILED},
    {"Unknown", READING_FAILED},
    {"Not Found", READING_FAILED},
    {"Not Ready", READING_FAILED},
};

static struct str without_brackets(struct str cell)
{
    cell = str_trim(cell);
    if (cell.len >= 2 && cell.at[0] == '[' && cell.at[cell.len - 1] == ']')
        cell = str_trim((struct str){cell.at + 1, cell.len - 2});
    return cell;
}

static bool is_odd(struct str cell, enum reading_state *why)
{
    struct str text = without_brackets(cell);
    for (size_t i = 0; i < ARRAY_LEN(odd_cells); i++)
        if (str_is_any_case(text, odd_cells[i].text)) {
            *why = odd_cells[i].why;
            return true;
        }
    /* Any other text in brackets is an unknown message. */
    *why = READING_FAILED;
    return text.len != str_trim(cell).len;
}

enum cell_trouble cell_trouble(struct str cell)
{
    struct str text = without_brackets(cell);
    if (str_is_any_case(text, "GPU is lost"))
        return TROUBLE_LOST;
    return str_is_any_case(text, "GPU requires reset") ? TROUBLE_RESET : TROUBLE_NONE;
}

/* For each kind of number: its units, scale and plausible range. */
static const struct {
    const char *units[3];       /* "nounits" omits the first */
    int64_t scale, least, most; /* range before scaling */
} numbers[] = {
    [CELL_PERCENT] = {{"%"}, 10, 0, 100},
    [CELL_FAN] = {{"%"}, 10, 0, 255},
    [CELL_MIB] = {{"MiB", "MB"}, 1 << 20, 0, 1LL << 30},
    [CELL_CELSIUS] = {{"C"}, 1000, -100, 250},
    [CELL_WATT] = {{"W"}, 1000, 0, 100000},
    [CELL_MHZ] = {{"MHz"}, 1000, 0, 100000},
    [CELL_MILLIVOLT] = {{"mV"}, 1, 0, 10000},
    [CELL_COUNT] = {{"bank(s)"}, 1, 0, INT64_MAX / 2},
    [CELL_MICROSECONDS] = {{"us"}, 1, 0, INT64_MAX / 2},
    [CELL_KB_PER_S] = {{"KB/s"}, 1000, 0, 1LL << 40},
    [CELL_LANES] = {{"x"}, 1, 0, 64},
};

static bool split_unit(struct str cell, struct str *number, struct str *unit)
{
    size_t len = 0;
    while (len < cell.len && (isdigit((unsigned char)cell.at[len]) || strchr("+-.", cell.at[len])))
        len++;
    *number = (struct str){cell.at, len};
    *unit = str_trim((struct str){cell.at + len, cell.len - len});
    return len > 0;
}

/* All ones in 32 or 64 bits, also in KiB or MiB: a value that was never set. */
static bool is_all_ones(double value)
{
    static const double ones[] = {4294967295.0, 18446744073709551615.0, 18014398509481983.0, 17592186044415.0};
    for (size_t i = 0; i < ARRAY_LEN(ones); i++)
        if (value == ones[i])
            return true;
    return false;
}

static struct reading cell_read_number(struct str cell, enum cell_kind kind)
{
    struct str number, unit;
    if (!split_unit(cell, &number, &unit))
        return reading_absent(READING_FAILED);
    bool known_unit = unit.len == 0;
    for (size_t i = 0; i < ARRAY_LEN(numbers[kind].units) && numbers[kind].units[i]; i++)
        known_unit = known_unit || str_is_any_case(unit, numbers[kind].units[i]);
    double value;
    int64_t scaled;
    if (!known_unit || !str_to_double(number, &value))
        return reading_absent(READING_FAILED);
    if (is_all_ones(value) || value < (double)numbers[kind].least || value > (double)numbers[kind].most)
        return reading_absent(READING_IMPLAUSIBLE);
    if (kind == CELL_MILLIVOLT && value == 0)
        return reading_absent(READING_UNSUPPORTED);                    /* what cards print that don't measure it */
    bool counted = numbers[kind].scale == 1 && kind != CELL_MILLIVOLT; /* beyond the precision of a double */
    if (counted ? !str_to_i64(number, &scaled) : !str_to_scaled(number, numbers[kind].scale, &scaled))
        return reading_absent(READING_FAILED);
    return reading_ok(scaled);
}

static struct reading read_word(struct str cell, const char *const *words, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is_any_case(cell, words[i]))
            return reading_ok(values[i]);
    return reading_absent(READING_FAILED);
}

static struct reading read_bool(struct str cell)
{
    static const char *const words[] = {"Yes", "No", "Enabled", "Disabled",  "Active",      "Not Active", "On",
                                        "Off", "1",  "0",       "Completed", "In Progress", "Not Started"};
    static const int64_t values[] = {1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0};
    return read_word(cell, words, values, ARRAY_LEN(words));
}

static struct reading read_compute_mode(struct str cell)
{
    static const char *const words[] = {"Default",    "Exclusive_Thread",  "Exclusive Thread",
                                        "Prohibited", "Exclusive_Process", "Exclusive Process"};
    static const int64_t values[] = {0, 1, 1, 2, 3, 3};
    return read_word(cell, words, values, ARRAY_LEN(words));
}

static struct reading read_recovery(struct str cell)
{
    static const char *const words[] = {"None",      "Reset",           "GPU Reset",   "Reboot",    "Node Reboot",
                                        "Drain P2P", "Drain and Reset", "Drain/Reset", "Bus Reset", "System Reboot"};
    static const int64_t values[] = {0, 1, 1, 2, 2, 3, 4, 4, 6, 7};
    return read_word(cell, words, values, ARRAY_LEN(words));
}

/* The driver's bits match enum throttle up to the display's; R615 has one for reliability. */
static struct reading read_throttle(struct str cell)
{
    const uint64_t named = (THROTTLE_DISPLAY << 1) - 1, reliability = 0x400;
    uint64_t mask;
    if (!str_to_u64(cell, &mask))
        return reading_absent(READING_FAILED);
    return reading_ok((int64_t)(mask & named) | (mask & reliability ? THROTTLE_RELIABILITY : 0) |
                      (mask & ~(named | reliability) ? THROTTLE_OTHER : 0));
}

static struct reading read_pstate(struct str cell)
{
    int64_t state;
    if (cell.len < 2 || toupper((unsigned char)cell.at[0]) != 'P' || !str_to_i64((struct str){cell.at + 1, cell.len - 1}, &state) ||
        state < 0 || state > 15)
        return reading_absent(READING_FAILED);
    return reading_ok(state);
}

struct reading cell_read(struct str cell, enum cell_kind kind)
{
    enum reading_state why;
    cell = str_trim(cell);
    if (is_odd(cell, &why))
        return reading_absent(why);
    switch (kind) {
    case CELL_THROTTLE: return read_throttle(cell);
    case CELL_BOOL: return read_bool(cell);
    case CELL_PSTATE: return read_pstate(cell);
    case CELL_COMPUTE_MODE: return read_compute_mode(cell);
    case CELL_RECOVERY: return read_recovery(cell);
    case CELL_TEXT:
    case CELL_WORD:
    case CELL_PCI_ID: return reading_absent(READING_FAILED);
    default: return cell_read_number(cell, kind);
    }
}

/* "0x233510DE" or "233510DE": device, then vendor */
static bool write_pci_id(struct str cell, char *to, size_t size)
{
    if (str_starts(cell, "0x") || str_starts(cell, "0X"))
        cell = (struct str){cell.at + 2, cell.len - 2};
    char digits[9];
    if (cell.len != 8)
        return false;
    for (size_t i = 0; i < 8; i++) {
        if (!isxdigit((unsigned char)cell.at[i]))
            return false;
        digits[i] = (char)tolower((unsigned char)cell.at[i]);
    }
    digits[8] = '\0';
    snprintf(to, size, "%.4s:%.4s", digits + 4, digits);
    return true;
}

bool cell_text(struct str cell, enum cell_kind kind, char *to, size_t size, enum reading_state *why)
{
    to[0] = '\0';
    cell = str_trim(cell);
    if (is_odd(cell, why))
        return false;
    if (kind == CELL_PCI_ID) {
        *why = READING_FAILED;
        return write_pci_id(cell, to, size);
    }
    str_copy_clean(to, size, cell);
    for (char *c = to; kind == CELL_WORD && *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return true;
}
