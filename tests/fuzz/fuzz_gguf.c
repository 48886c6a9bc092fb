/* SPDX-License-Identifier: Apache-2.0
 * Headers of GGUF files. What is accepted lies within the file, and its need can be computed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/fit/model_size.h"
#include "memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct model_facts facts;
    static struct model_need need;
    struct error err = {0};
    /* The first byte: how much larger the file is than what can be read of it. */
    uint64_t more = size ? (uint64_t)data[0] << 20 : 0;
    struct memory m = {data + (size ? 1 : 0), size ? size - 1 : 0};
    facts = (struct model_facts){0};
    int rc = gguf_read(&(struct model_input){read_memory, &m, m.len + more}, &facts, &err);
    if (rc < 0 && !err.text[0])
        abort();
    if (rc < 0)
        return 0;
    model_need(&facts, &(struct model_options){.context = -1, .overhead_bytes = MODEL_OVERHEAD_DEFAULT}, &need);
    if (facts.tensor_bytes < 0 || need.bytes < 0 || need.layer_count > MODEL_LAYERS_MAX + 1 ||
        (need.complete && need.cache_bytes.state != READING_OK))
        abort();
    return 0;
}
