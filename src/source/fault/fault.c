/* SPDX-License-Identifier: Apache-2.0
 * The fault tables, and parsers for their lines in the kernel log.
 */
#include "source/fault/fault.h"

#include <ctype.h>
#include <stdio.h>

#include "base/cleanup.h"

static const struct fault_info xids[] = {
#define XID(code, class, what) {code, FAULT_##class, what, NULL},
#include "source/fault/xid.def"
#undef XID
};

static const struct fault_info in_kernel_log[] = {
#define DRIVER_FAULT(code, class, needle, what) {code, FAULT_##class, what, needle},
#include "source/fault/kernel_log.def"
#undef DRIVER_FAULT
};

static const struct fault_info *find_in(const struct fault_info *table, size_t count, int64_t code)
{
    for (size_t i = 0; i < count; i++)
        if (table[i].code == code)
            return &table[i];
    return NULL;
}

const struct fault_info *xid_find(int64_t code)
{
    return find_in(xids, ARRAY_LEN(xids), code);
}

const struct fault_info *driver_fault_find(int64_t code)
{
    return find_in(in_kernel_log, ARRAY_LEN(in_kernel_log), code);
}

const struct fault_info *xid_at(size_t position)
{
    return position < ARRAY_LEN(xids) ? &xids[position] : NULL;
}

bool fault_stops_gpu(enum fault_class class)
{
    return class == FAULT_RESET || class == FAULT_REBOOT || class == FAULT_CABLE;
}

const char *fault_action(enum fault_class class)
{
    switch (class) {
    case FAULT_INFORM: return "Nothing to do.";
    case FAULT_APPLICATION:
        return "Restart the program that was stopped. If it happens to other programs on this GPU, too, have the GPU checked.";
    case FAULT_LOOK: return "Check the kernel log (`sudo dmesg`) around that time. If it happens again, reset the GPU.";
    case FAULT_RESET: return "Stop all work on the GPU and reset it, or reboot the host.";
    case FAULT_REBOOT: return "Reboot the host. If it happens again, check the power cables, the slot and the GPU's temperature.";
    case FAULT_CABLE: return "Power off the host and check the GPU's power cables.";
    case FAULT_UNKNOWN: break;
    }
    return "Check the kernel log (`sudo dmesg`): whirr doesn't know this error.";
}

/* Position after `needle`, or 0 if missing. */
static size_t behind(struct str line, const char *needle)
{
    size_t len = strlen(needle);
    for (size_t i = 0; i + len <= line.len; i++)
        if (memcmp(line.at + i, needle, len) == 0)
            return i + len;
    return 0;
}

static struct str from(struct str line, size_t at)
{
    return (struct str){line.at + at, line.len - at};
}

/* "PCI:0000:05:00", "0000:01:00", "0000:05:00.0", "PCI:0000:05:00 GPU-I:02 GPU-CI:00" (a MIG instance) -> "0000:05:00.0" */
static bool read_pci(struct str text, char out[16])
{
    if (str_starts(text, "PCI:"))
        text = from(text, 4);
    const char *space = memchr(text.at, ' ', text.len);
    if (space && str_starts(from(text, (size_t)(space + 1 - text.at)), "GPU-"))
        text.len = (size_t)(space - text.at);
    if (text.len != 10 && text.len != 12)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = (char)tolower((unsigned char)text.at[i]);
        bool good = i == 4 || i == 7 ? c == ':' : i == 10 ? c == '.' : isxdigit((unsigned char)c) != 0;
        if (!good)
            return false;
        out[i] = c;
    }
    snprintf(out + text.len, 16 - text.len, "%s", text.len == 10 ? ".0" : "");
    return true;
}

static bool xid_read_number(struct str text, int64_t *ret)
{
    size_t len = 0;
    while (len < text.len && isdigit((unsigned char)text.at[len]))
        len++;
    return len > 0 && len < 10 && str_to_i64((struct str){text.at, len}, ret);
}

static bool parse_fallen(struct str line, struct fault_line *ret)
{
    size_t at = behind(line, "NVRM: GPU ");
    struct str rest = from(line, at), pci;
    if (!at || !str_contains(line, "has fallen off the bus") || !str_word(&rest, &pci))
        return false;
    while (pci.len && (pci.at[pci.len - 1] == ':' || pci.at[pci.len - 1] == ','))
        pci.len--;
    *ret = (struct fault_line){.code = 79};
    return read_pci(pci, ret->pci_address);
}

bool xid_parse(struct str line, struct fault_line *ret)
{
    size_t at = behind(line, "NVRM: Xid (");
    if (!at)
        return parse_fallen(line, ret);
    struct str rest = from(line, at), pci, value;
    struct fault_line found = {0};
    if (!str_cut(&rest, ')', &pci) || !read_pci(pci, found.pci_address))
        return false;
    if (rest.len < 2 || rest.at[0] != ':' || !xid_read_number(str_trim(from(rest, 1)), &found.code))
        return false;
    size_t pid = behind(rest, "pid="), name = behind(rest, "name=");
    if (pid)
        xid_read_number(from(rest, pid), &found.pid); /* older drivers write pid='<unknown>' */
    if (name) {
        value = from(rest, name);
        struct str word;
        if (str_cut(&value, ',', &word) && !str_contains(word, "<unknown>"))
            str_copy_clean(found.name, sizeof found.name, str_trim(word));
    }
    *ret = found;
    return true;
}

static const struct fault_info *find_needle(struct str line)
{
    for (size_t i = 0; i < ARRAY_LEN(in_kernel_log); i++)
        if (str_contains_any_case(line, in_kernel_log[i].needle))
            return &in_kernel_log[i];
    return NULL;
}

/* Few log lines name a PCI device: search only those. */
bool driver_fault_parse(struct str line, struct fault_line *ret)
{
    struct str rest = line, word;
    struct fault_line fault = {0};
    while (str_word(&rest, &word)) {
        if (word.len && word.at[word.len - 1] == ':')
            word.len--;
        if (word.len != 12 || !read_pci(word, fault.pci_address))
            continue;
        const struct fault_info *found = find_needle(line);
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
