/* SPDX-License-Identifier: Apache-2.0
 * The codes of findings for people: `whirr why --codes`.
 */
#include "base/cleanup.h"
#include "base/words.h"
#include "format/table/grid.h"
#include "format/table/table.h"

void table_finding_codes(struct buf *out, const struct page *page)
{
    static const struct grid_column columns[] = {
        {"CODE", LEFT, 0}, {"SEVERITY", LEFT, 0}, {"HOLDS", RIGHT, 2}, {"AREA", LEFT, 1}, {"MEANING", LEFT, 0}};
    AUTO_GRID struct grid g;
    char holds[WORDS_SIZE];
    grid_init(&g, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < FINDING_CODE_COUNT; i++) {
        const struct finding_kind *kind = finding_kind((enum finding_code)i);
        grid_add(&g, INK_STRONG, kind->code);
        grid_add(&g, severity_ink(kind->severity), severity_text(kind->severity));
        grid_add(&g, INK_FAINT, words_duration(kind->hold_ms, holds));
        grid_add(&g, INK_FAINT, finding_area_name(kind->area));
        grid_add(&g, INK_PLAIN, kind->title);
    }
    grid_write(out, page, &g);
}
