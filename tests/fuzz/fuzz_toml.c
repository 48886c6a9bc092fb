/* SPDX-License-Identifier: Apache-2.0
 * Any bytes into the TOML reader: it ends, within its limits, and every value has a place in the text.
 */
#include <stdlib.h>

#include "base/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const struct toml_value *v, int depth)
{
    if (depth > TOML_DEPTH_MAX || v->at.line < 1 || v->at.column < 1)
        abort();
    if (v->type != TOML_TABLE && v->type != TOML_ARRAY)
        return;
    size_t count = 0;
    for (const struct toml_value *m = v->first; m; m = m->next, count++)
        walk(m, depth + 1);
    if (count != v->count)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_TOML struct toml_document *doc = NULL;
    struct toml_error err = {0};
    if (toml_parse((struct str){(const char *)data, size}, &doc, &err) == 0)
        walk(toml_root(doc), 0);
    else if (err.at.line < 1 || !err.text[0])
        abort();
    return 0;
}
