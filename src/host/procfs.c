/* SPDX-License-Identifier: Apache-2.0
 * Parsers for procfs texts. They work on views and allocate nothing.
 */
#include "host/procfs.h"

/* Field numbers of stat as in proc(5); the name is the second, and parsing counts from there. */
enum {
    FIELD_STATE = 3,
    FIELD_PARENT = 4,
    FIELD_GROUP = 5,
    FIELD_FLAGS = 9,
    FIELD_MINOR_FAULTS = 10,
    FIELD_MAJOR_FAULTS = 12,
    FIELD_UTIME = 14,
    FIELD_STIME = 15,
    FIELD_START = 22,
    FIELD_VSIZE = 23,
    FIELD_RSS = 24,
    FIELD_PROCESSOR = 39
};

bool proc_stat_parse(struct str text, struct proc_stat *ret)
{
    /* A process chooses its name, so "x) R 1 (" is possible: the name ends at the last parenthesis. */
    const char *open = memchr(text.at, '(', text.len);
    const char *close = memrchr(text.at, ')', text.len);
    if (!open || !close || close < open)
        return false;
    struct proc_stat stat = {.comm = {open + 1, (size_t)(close - open) - 1}, .processor = -1};
    struct str rest = {close + 1, text.len - (size_t)(close + 1 - text.at)}, word;
    int64_t utime = 0;
    for (int field = FIELD_STATE; field <= FIELD_PROCESSOR; field++) {
        if (!str_word(&rest, &word)) {
            if (field > FIELD_RSS)
                break; /* an old recording, truncated */
            return false;
        }
        bool good = true;
        switch (field) {
        case FIELD_STATE: stat.state = word.at[0]; break;
        case FIELD_PARENT: good = str_to_i64(word, &stat.parent); break;
        case FIELD_GROUP: good = str_to_i64(word, &stat.group); break;
        case FIELD_FLAGS: good = str_to_u64(word, &stat.flags); break;
        case FIELD_UTIME: good = str_to_i64(word, &utime); break;
        case FIELD_STIME: good = str_to_i64(word, &stat.system_ticks); break;
        case FIELD_MINOR_FAULTS: good = str_to_i64(word, &stat.minor_faults); break;
        case FIELD_MAJOR_FAULTS: good = str_to_i64(word, &stat.major_faults); break;
        case FIELD_VSIZE: good = str_to_u64(word, &stat.vsize_bytes); break;
        case FIELD_PROCESSOR: good = str_to_i64(word, &stat.processor); break;
        case FIELD_START: good = str_to_i64(word, &stat.start_ticks); break;
        case FIELD_RSS: good = str_to_i64(word, &stat.rss_pages); break;
        default: break;
        }
        if (!good)
            return false;
    }
    if (utime < 0 || stat.system_ticks < 0 || __builtin_add_overflow(utime, stat.system_ticks, &stat.cpu_ticks))
        return false;
    *ret = stat;
    return true;
}

static void kib_of_line(struct str line, int64_t *bytes)
{
    struct str word;
    int64_t kib;
    str_word(&line, &word);
    if (str_word(&line, &word) && str_to_i64(word, &kib) && kib >= 0 && kib < INT64_MAX / 1024)
        *bytes = kib * 1024;
}

void proc_status_parse(struct str text, struct proc_status *ret)
{
    *ret = (struct proc_status){.uid = -1, .vm_rss_bytes = -1, .vm_swap_bytes = -1, .rss_file_bytes = -1};
    struct str line, word;
    while (str_cut(&text, '\n', &line)) {
        if (str_starts(line, "Uid:")) {
            /* real, effective, saved, filesystem */
            int64_t uid;
            str_word(&line, &word);
            for (int i = 0; i < 2 && str_word(&line, &word); i++)
                if (str_to_i64(word, &uid) && uid >= 0)
                    ret->uid = uid;
        } else if (str_starts(line, "VmRSS:")) {
            kib_of_line(line, &ret->vm_rss_bytes);
        } else if (str_starts(line, "RssFile:")) {
            kib_of_line(line, &ret->rss_file_bytes);
        } else if (str_starts(line, "VmSwap:")) {
            kib_of_line(line, &ret->vm_swap_bytes);
        } else if (str_starts(line, "Cpus_allowed_list:")) {
            str_word(&line, &word);
            ret->cpus_allowed = str_trim(line);
        } else if (str_starts(line, "Mems_allowed_list:")) {
            str_word(&line, &word);
            ret->nodes_allowed = str_trim(line);
        }
    }
}

bool proc_schedstat_parse(struct str text, struct proc_schedstat *ret)
{
    struct str run, queued;
    struct proc_schedstat s;
    if (!str_word(&text, &run) || !str_word(&text, &queued) || !str_to_i64(run, &s.run_ns) || !str_to_i64(queued, &s.queued_ns) ||
        s.run_ns < 0 || s.queued_ns < 0)
        return false;
    *ret = s;
    return true;
}

void proc_io_parse(struct str text, int64_t *read_bytes, int64_t *write_bytes)
{
    struct str line, key;
    while (str_cut(&text, '\n', &line)) {
        if (!str_cut(&line, ':', &key))
            continue;
        if (str_is(key, "read_bytes"))
            str_to_i64(str_trim(line), read_bytes);
        else if (str_is(key, "write_bytes"))
            str_to_i64(str_trim(line), write_bytes);
    }
}

static struct str without_ends(struct str cmdline)
{
    while (cmdline.len && cmdline.at[cmdline.len - 1] == '\0')
        cmdline.len--;
    return cmdline;
}

size_t arguments_of(struct str cmdline, struct str *args, size_t max)
{
    size_t count = 0;
    cmdline = without_ends(cmdline);
    while (count < max && str_cut(&cmdline, '\0', &args[count]))
        count++;
    return count;
}

size_t proc_arguments(struct str cmdline, struct str *args, size_t max)
{
    size_t count = 0;
    cmdline = without_ends(cmdline);
    if (!cmdline.len || memchr(cmdline.at, '\0', cmdline.len) || !memchr(cmdline.at, ' ', cmdline.len))
        return arguments_of(cmdline, args, max);
    while (count < max && str_word(&cmdline, &args[count]))
        count++;
    return count;
}
