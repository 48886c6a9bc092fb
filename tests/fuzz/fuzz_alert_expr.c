/* SPDX-License-Identifier: Apache-2.0
 * Conditions of alert rules. What is read can be evaluated on a machine without any reading; what is refused has a place inside the
 * text and a sentence.
 */
#include <stdlib.h>

#include "alert/expr/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct snapshot *machine;
    if (!machine) {
        machine = snapshot_new(1);
        machine->gpus[0].temp_mdegc = reading_ok(90000);
        machine->gpus[0].mem_used_bytes = reading_ok(20LL << 30);
        gpu_add_process(&machine->gpus[0], 1);
    }
    struct str text = {(const char *)data, size};
    struct expr *e = NULL;
    struct expr_error err = {0};
    struct subject s = {.snapshot = machine, .gpu = &machine->gpus[0], .process = machine->gpus[0].processes};
    if (expr_parse(text, &e, &err)) {
        AUTO_BUF struct buf out = BUF(1 << 16);
        expr_caret(&out, text, &err, 4);
        if (err.column < 1 || err.column > (int)size + 1 || err.width < 1 || !err.text[0] || out.failed)
            abort();
        return 0;
    }
    double value;
    const struct alert_name *name;
    if (expr_eval(e, &s) > TRUTH_UNKNOWN)
        abort();
    expr_value(e, &s, &name, &value);
    expr_free(e);
    return 0;
}
