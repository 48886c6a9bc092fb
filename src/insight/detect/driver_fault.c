/* SPDX-License-Identifier: Apache-2.0
 * The table of faults, and the reader of their lines.
 */
#include "insight/detect/driver_fault.h"

#include <ctype.h>

#include "base/cleanup.h"

static const struct driver_fault_info table[] = {
#define DRIVER_FAULT(code, class, needle, what) {code, XID_##class, needle, what},
#include "insight/detect/driver_fault.def"
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

bool driver_fault_parse(struct str line, struct driver_fault_line *ret)
{
    const struct driver_fault_info *found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(table) && !found; i++)
        if (str_contains(line, table[i].needle))
            found = &table[i];
    struct str rest = line, word;
    struct driver_fault_line fault = {.code = found ? found->code : 0};
    while (found && str_word(&rest, &word))
        if (read_pci(word, fault.pci_address)) {
            *ret = fault;
            return true;
        }
    return false;
}
