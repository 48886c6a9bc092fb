/* SPDX-License-Identifier: Apache-2.0
 * Headers of safetensors files, and config.json: the first byte says which.
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
    if (size < 1)
        return 0;
    facts = (struct model_facts){0};
    struct memory m = {data + 1, size - 1};
    int rc = data[0] & 1 ? safetensors_read(&(struct model_input){read_memory, &m, m.len + ((uint64_t)data[0] << 12)}, &facts, &err)
                         : model_config_read((struct str){(const char *)m.at, m.len}, &facts, &err);
    if (rc < 0 && !err.text[0])
        abort();
    if (rc < 0)
        return 0;
    model_need(&facts, &(struct model_options){.context = 8192, .cache_type = "q8_0"}, &need);
    if (facts.tensor_bytes < 0 || need.bytes < 0 || (need.complete && need.cache_bytes.state != READING_OK))
        abort();
    return 0;
}
