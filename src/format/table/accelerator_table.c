/* SPDX-License-Identifier: Apache-2.0
 * NPUs and accelerators, described in one line each below the GPUs.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "format/table/table.h"

static void part(struct buf *text, const struct page *page, const char *words)
{
    if (words[0])
        buf_printf(text, "%s%s", text->len ? page_dot(page) : "", words);
}

static void numbers(struct buf *text, const struct page *page, const struct gpu *a)
{
    char words[NUMBER_SIZE], who[PROCESS_WORDS];
    int64_t value;
    if (a->util_permille.state == READING_OK) {
        show_percent(words, page, a->util_permille);
        part(text, page, words);
    }
    if (reading_get(a->clock_graphics_khz, &value)) {
        snprintf(words, sizeof words, "%lld MHz", (long long)value / 1000);
        part(text, page, words);
    }
    if (a->temp_mdegc.state == READING_OK) {
        show_temperature(words, page, a->temp_mdegc);
        part(text, page, words);
    }
    if (reading_get(a->power_mw, &value)) {
        snprintf(words, sizeof words, "%.1f W", (double)value / 1000);
        part(text, page, words);
    }
    if (a->mem_used_bytes.state == READING_OK) {
        show_bytes(words, page, a->mem_used_bytes);
        part(text, page, words);
        buf_text(text, " in use");
    }
    const struct process *top = gpu_top_process(a);
    if (top && top->name[0])
        part(text, page, process_words(top, SHORT_NAME | WITH_USER, who));
}

void table_accelerators(struct buf *out, const struct page *page, const struct snapshot *s)
{
    int name = 0;
    for (size_t i = 0; i < s->accelerator_count; i++)
        name = MAX_OF(name, width_of(s->accelerators[i].id.name));
    for (size_t i = 0; i < s->accelerator_count; i++) {
        const struct gpu *a = &s->accelerators[i];
        const char *kind = device_kind_name(a->id.kind);
        int begin = 2 + width_of(kind) + 2 + name + 2;
        AUTO_BUF struct buf text = BUF(1024);
        if (a->state == GPU_ASLEEP)
            buf_text(&text, "asleep, left alone");
        else if (a->state != GPU_OK)
            buf_printf(&text, "%s: %s", gpu_state_name(a->state), a->error_message);
        else
            numbers(&text, page, a);
        buf_text(out, "  ");
        page_ink(out, page, INK_FAINT, str_from(kind));
        buf_text(out, "  ");
        page_cell(out, page, INK_PLAIN, LEFT, a->id.name, name);
        buf_text(out, "  ");
        page_wrap(out, page, a->state == GPU_OK || a->state == GPU_ASLEEP ? INK_PLAIN : INK_BAD,
                  text.len ? text.at : page_dash(page), begin, begin);
    }
}
