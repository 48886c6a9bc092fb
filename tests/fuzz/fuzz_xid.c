/* SPDX-License-Identifier: Apache-2.0
 * Lines of the kernel log. What is taken for an XID has an address, a number, and a clean name.
 */
#include <stdlib.h>

#include "source/fault/fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fault_line found;
    if (!xid_parse((struct str){(const char *)data, size}, &found))
        return 0;
    bool good = strlen(found.pci_address) == 12 && found.code >= 0 && found.pid >= 0 && strlen(found.name) < sizeof found.name;
    for (struct str rest = str_from(found.name); good && rest.len;) {
        size_t n = str_utf8(rest);
        good = n > 0;
        rest = (struct str){rest.at + n, rest.len - n};
    }
    if (!good)
        abort();
    return 0;
}
