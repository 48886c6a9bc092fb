/* SPDX-License-Identifier: Apache-2.0
 * The table in tests/golden/source/nvidia-smi-q.md: every line of a recorded `nvidia-smi -q` has a key that exists, or a reason.
 */
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "model/metric.h"
#include "sysroot.h"
#include "test.h"

static void read_text(const char *path, struct buf *out)
{
    const struct env env = {.sysroot = ""};
    assert_int_equal(file_read_all(&env, path, out), 0);
}

/* The row of the table for a line; false when there is none. */
static bool find_row(struct str doc, const char *path, struct str *key, struct str *reason)
{
    struct str line, cell;
    while (str_cut(&doc, '\n', &line)) {
        if (!str_starts(line, "| ") || !str_cut(&line, '|', &cell) || !str_cut(&line, '|', &cell) || !str_is(str_trim(cell), path))
            continue;
        assert_true(str_cut(&line, '|', key));
        *key = str_trim(*key);
        assert_true(str_cut(&line, '|', reason));
        *reason = str_trim(*reason);
        return true;
    }
    return false;
}

static bool is_key(struct str key)
{
    static const char *const identity[] = {"uuid", "pci_address", "name", "processes"};
    char text[64];
    str_copy(text, sizeof text, key);
    for (size_t i = 0; i < ARRAY_LEN(identity); i++)
        if (strcmp(text, identity[i]) == 0)
            return true;
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        if (strcmp(text, property_table[i].json) == 0)
            return true;
    return metric_from_json(text) != METRIC_COUNT;
}

static void check_line(struct str doc, const char *path)
{
    struct str key, reason;
    if (!find_row(doc, path, &key, &reason))
        fail_msg("nvidia-smi-q.md has no row for '%s'", path);
    if (key.len == 0) {
        if (reason.len == 0)
            fail_msg("'%s' has neither a key nor a reason", path);
        return;
    }
    if (key.at[0] != '`' || !is_key((struct str){key.at + 1, key.len - 2}))
        fail_msg("'%s': there is no key " STR_FMT, path, STR_ARG(key));
}

/* "    MIG Mode" above "        Current   : Disabled" -> "MIG Mode > Current" */
struct path {
    struct str parts[8];
    size_t depth;
};

static bool next_leaf(struct str *rest, struct path *path, char *text, size_t size)
{
    struct str line;
    while (str_cut(rest, '\n', &line)) {
        if (str_trim(line).len == 0 || str_starts(line, "====="))
            continue;
        size_t level = strspn(line.at, " ") / 4;
        const char *colon = memmem(line.at, line.len, " : ", 3);
        bool card = level == 0 && str_starts(line, "GPU 0");
        assert_true(level < ARRAY_LEN(path->parts));
        path->parts[level] = card ? STR("GPU") : str_trim(colon ? (struct str){line.at, (size_t)(colon - line.at)} : line);
        path->depth = level + 1;
        if (!colon && !card)
            continue;
        text[0] = '\0';
        for (size_t i = level > 0 ? 1 : 0; i < path->depth; i++)
            snprintf(text + strlen(text), size - strlen(text), "%s" STR_FMT, text[0] ? " > " : "", STR_ARG(path->parts[i]));
        return true;
    }
    return false;
}

static void every_line_of_nvidia_smi_has_a_key_or_a_reason(void **state)
{
    (void)state;
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    char path[PATH_SIZE], leaf[256];
    AUTO_BUF struct buf doc = BUF(1 << 20);
    snprintf(path, sizeof path, "%s/tests/golden/source/nvidia-smi-q.md", root ? root : ".");
    read_text(path, &doc);
    AUTO_FREE char *recorded = machine_file("h200", "/nvidia-smi/q", NULL);
    assert_non_null(recorded);

    struct path at = {0};
    struct str rest = str_from(recorded);
    size_t count = 0;
    for (; next_leaf(&rest, &at, leaf, sizeof leaf); count++)
        check_line(buf_view(&doc), leaf);
    assert_true(count > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(every_line_of_nvidia_smi_has_a_key_or_a_reason)};
    return RUN_TESTS(tests);
}
