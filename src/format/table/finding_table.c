/* SPDX-License-Identifier: Apache-2.0
 * The codes of findings for people: `whirr why --codes`.
 */
#include "base/cleanup.h"
#include "base/words.h"
#include "format/table/grid.h"
#include "format/table/table.h"
#include "model/finding.h"
#include "model/finding_code.h"

void table_finding_codes(struct buf *out, const struct page *page, const struct finding_settings *settings)
{
    static const struct grid_column columns[] = {
        {"CODE", LEFT, 0}, {"SEVERITY", LEFT, 0}, {"HOLDS", RIGHT, 2}, {"AREA", LEFT, 1}, {"MEANING", LEFT, 0}};
    AUTO_GRID struct grid g;
    char holds[WORDS_SIZE];
    grid_init(&g, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < FINDING_CODE_COUNT; i++) {
        const struct finding_kind *kind = finding_kind((finding_code)i);
        enum severity severity = finding_severity(settings, (finding_code)i);
        bool muted = settings->list[i].muted;
        grid_add(&g, INK_STRONG, kind->code);
        grid_add(&g, muted ? INK_FAINT : severity_ink(severity), muted ? "muted" : severity_text(severity));
        grid_add(&g, INK_FAINT, words_duration(finding_hold_ms(settings, (finding_code)i), holds));
        grid_add(&g, INK_FAINT, finding_area_name(kind->area));
        grid_add(&g, INK_PLAIN, kind->title);
    }
    grid_write(out, page, &g);
}
