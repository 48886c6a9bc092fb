/* SPDX-License-Identifier: Apache-2.0
 * The explanation for people: the sentence, the evidence, what could be done.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "format/json/json.h"
#include "format/table/table.h"

static void bullet(struct buf *out, const struct page *page, const char *text)
{
    buf_text(out, page->utf8 ? "    • " : "    - ");
    page_wrap(out, page, INK_PLAIN, text, 6, 6);
}

static void causes(struct buf *out, const struct page *page, const struct why_part *part)
{
    for (size_t i = 0; i < part->cause_count; i++) {
        const struct why_cause *cause = &part->causes[i];
        char percent[16];
        snprintf(percent, sizeof percent, "%3.0f%%", cause->confidence * 100);
        buf_text(out, "  ");
        page_cell(out, page, i == 0 ? INK_STRONG : INK_FAINT, RIGHT, percent, 5);
        buf_text(out, "  ");
        page_wrap(out, page, i == 0 ? INK_PLAIN : INK_FAINT, cause->text, 9, 9);
        for (size_t e = 0; e < cause->evidence_count; e++) {
            buf_text(out, page->utf8 ? "         · " : "         - ");
            page_wrap(out, page, INK_FAINT, cause->evidence[e], 11, 11);
        }
    }
}

static void part_body(struct buf *out, const struct page *page, const struct why_part *part)
{
    if (part->cause_count) {
        buf_text(out, "\n");
        page_ink(out, page, INK_STRONG, STR("  Why"));
        buf_char(out, '\n');
        causes(out, page, part);
    }
    if (part->suggestion_count) {
        buf_text(out, "\n");
        page_ink(out, page, INK_STRONG, STR("  What could be done"));
        buf_char(out, '\n');
        for (size_t i = 0; i < part->suggestion_count; i++)
            bullet(out, page, part->suggestions[i]);
    }
}

void table_why(struct buf *out, const struct page *page, const struct snapshot *s, const struct why *why, int only)
{
    bool one = only != ALL_GPUS && only < (int)why->gpu_count;
    for (size_t i = 0; i < s->gpu_count; i++) {
        if (s->gpus[i].simulated) {
            page_ink(out, page, INK_LABEL, page->color ? STR(" SIMULATED ") : STR("SIMULATED"));
            buf_text(out, "\n");
            break;
        }
    }
    page_wrap(out, page, INK_STRONG, one ? why->gpus[only].answer : why->answer, 0, 0);
    if (!one)
        part_body(out, page, &why->machine);
    for (size_t i = 0; i < why->gpu_count; i++) {
        const struct why_part *part = &why->gpus[i];
        if (only != ALL_GPUS && only != (int)i)
            continue;
        if (!one && why->gpu_count > 1) {
            char title[GPU_NAME_SIZE + 32];
            snprintf(title, sizeof title, "GPU %d  %s", part->gpu_index, i < s->gpu_count ? s->gpus[i].id.name : "");
            buf_text(out, "\n");
            page_wrap(out, page, INK_LOAD, title, 0, 0);
            buf_text(out, "  ");
            page_wrap(out, page, INK_PLAIN, part->answer, 2, 2);
        }
        part_body(out, page, part);
    }
}
