/* SPDX-License-Identifier: Apache-2.0
 * The table of faults, and the reader of their lines.
 */
#include "source/fault/driver_fault.h"

#include <ctype.h>

#include "base/cleanup.h"

static const struct driver_fault_info table[] = {
#define DRIVER_FAULT(code, class, needle, what) {code, XID_##class, needle, what},
#include "source/fault/driver_fault.def"
#undef DRIVER_FAULT
};

const struct driver_fault_info *driver_fault_find(int64_t code)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].code == code)
            return &table[i];
    return NULL;
}

/* "0000:03:00.0", with a colon or nothing behind it. */
static bool read_pci(struct str word, char out[16])
{
    static const char shape[] = "xxxx:xx:xx.x";
    if (word.len == sizeof shape && word.at[word.len - 1] == ':')
        word.len--;
    if (word.len != sizeof shape - 1)
        return false;
    for (size_t i = 0; i < word.len; i++) {
        char c = (char)tolower((unsigned char)word.at[i]);
        if (shape[i] == 'x' ? !isxdigit((unsigned char)c) : c != shape[i])
            return false;
        out[i] = c;
    }
    out[word.len] = '\0';
    return true;
}

static const struct driver_fault_info *find_needle(struct str line)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (str_contains_any_case(line, table[i].needle))
            return &table[i];
    return NULL;
}

/* Few lines of a log name a PCI device: only those are searched for a fault. */
bool driver_fault_parse(struct str line, struct driver_fault_line *ret)
{
    struct str rest = line, word;
    struct driver_fault_line fault = {0};
    while (str_word(&rest, &word)) {
        if (!read_pci(word, fault.pci_address))
            continue;
        const struct driver_fault_info *found = find_needle(line);
        if (!found)
            return false;
        fault.code = found->code;
        *ret = fault;
        return true;
    }
    return false;
}

int64_t switch_fault_parse(struct str line)
{
    enum { SWITCH_FATAL = 12, SWITCH_ERROR = 13 };
    if (!str_contains(line, ": SXid (PCI:"))
        return 0;
    return str_contains(line, ", Fatal") ? SWITCH_FATAL : str_contains(line, ", Non-fatal") ? SWITCH_ERROR : 0;
}
