/* SPDX-License-Identifier: Apache-2.0
 * What a PromQL database answers.
 */
#include "fleet/promql.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Names and values are texts inside the answer. */
static int look(void *user, const struct vector_row *row)
{
    const struct buf *answer = user;
    for (size_t i = 0; i < row->label_count; i++) {
        const char *name = row->labels[i].name, *value = row->labels[i].value;
        if (name < answer->at || value + strlen(value) >= answer->at + answer->len || !vector_label(row, name))
            __builtin_trap();
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_BUF struct buf answer = BUF(1 << 20);
    buf_add(&answer, (const char *)data, size);
    vector_read(&answer, look, &answer);
    return 0;
}
