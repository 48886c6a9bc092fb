/* SPDX-License-Identifier: Apache-2.0
 * Every reading of every GPU, one per line, from the metric table; the end says why others are absent.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/table/table.h"

enum { INDENT = 2, GAP = 2 };

static void throttle_words(char *text, size_t size, int64_t bits)
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < THROTTLE_COUNT && used < size; i++)
        if (bits & (1 << i))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", throttle_name(i));
    if (!used)
        snprintf(text, size, "none");
}

static void value_words(char *text, size_t size, const struct metric_info *info, int64_t value)
{
    switch (info->kind) {
    case KIND_NUMBER: snprintf(text, size, "%.10g", (double)value * info->json_scale); break;
    case KIND_BOOL: snprintf(text, size, "%s", value ? "yes" : "no"); break;
    case KIND_PSTATE: snprintf(text, size, "P%lld", (long long)value); break;
    case KIND_THROTTLE: throttle_words(text, size, value); break;
    case KIND_COMPUTE_MODE: snprintf(text, size, "%s", compute_mode_name(value)); break;
    case KIND_POWER_MIZER: snprintf(text, size, "%s", power_mizer_name(value)); break;
    case KIND_RECOVERY: snprintf(text, size, "%s", recovery_action_name(value)); break;
    }
}

static void pair(struct buf *out, const struct page *page, int width, const char *key, const char *value)
{
    buf_text(out, "  ");
    page_cell(out, page, INK_FAINT, LEFT, key, width);
    page_wrap(out, page, INK_PLAIN, value, INDENT + width, INDENT + width);
}

/* Of the column of names: the longest that this GPU has, and a gap. */
static int key_width(const struct gpu *gpu)
{
    size_t longest = strlen("error_message");
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        if (gpu->property[i].state == READING_OK)
            longest = MAX_OF(longest, strlen(property_table[i].json));
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (gpu->metric[i].state == READING_OK)
            longest = MAX_OF(longest, strlen(metric_table[i].json));
    return (int)longest + GAP;
}

/* One paragraph with all that is missing for one reason. */
static void absent(struct buf *out, const struct page *page, const struct gpu *gpu, enum reading_state why)
{
    AUTO_BUF struct buf names = BUF(16384);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (gpu->metric[i].state == why)
            buf_printf(&names, "%s ", metric_table[i].json);
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        if (gpu->property[i].state == why)
            buf_printf(&names, "%s ", property_table[i].json);
    if (gpu->processes_state == why)
        buf_text(&names, "processes ");
    if (!names.len || names.failed)
        return;
    buf_text(out, "  ");
    page_cell(out, page, INK_FAINT, LEFT, reading_state_name(why), 13);
    page_wrap(out, page, INK_FAINT, names.at, 15, 15);
}

static void one_gpu(struct buf *out, const struct page *page, const struct gpu *gpu, const char *title)
{
    char text[256];
    int width = key_width(gpu);
    page_wrap(out, page, INK_STRONG, title, 0, 0);
    if (gpu->id.uuid[0])
        pair(out, page, width, "uuid", gpu->id.uuid);
    if (gpu->id.pci_address[0])
        pair(out, page, width, "pci_address", gpu->id.pci_address);
    pair(out, page, width, "state", gpu_state_name(gpu->state));
    if (gpu->error_message[0])
        pair(out, page, width, "error_message", gpu->error_message);
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        if (gpu->property[i].state == READING_OK)
            pair(out, page, width, property_table[i].json, gpu->property[i].value);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        if (gpu->metric[i].state != READING_OK)
            continue;
        value_words(text, sizeof text, &metric_table[i], gpu->metric[i].value);
        pair(out, page, width, metric_table[i].json, text);
    }
    for (int why = READING_UNREAD; why <= READING_LAST; why++)
        if (why != READING_OK)
            absent(out, page, gpu, (enum reading_state)why);
}

void table_full(struct buf *out, const struct page *page, const struct snapshot *s, int only)
{
    table_status(out, page, s, only);
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        char title[GPU_NAME_SIZE + GPU_TEXT_SIZE + 64];
        if (only != ALL_GPUS && only != (int)i)
            continue;
        snprintf(title, sizeof title, "GPU %d  %s%s", gpu->index, gpu->id.name, gpu->simulated ? "  (simulated)" : "");
        buf_char(out, '\n');
        one_gpu(out, page, gpu, title);
        for (size_t k = 0; k < gpu->instance_count; k++) {
            snprintf(title, sizeof title, "GPU %d  instance %zu  %s", gpu->index, k, gpu->instances[k].profile);
            buf_char(out, '\n');
            one_gpu(out, page, &gpu->instances[k], title);
        }
    }
}
