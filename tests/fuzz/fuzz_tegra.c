/* SPDX-License-Identifier: Apache-2.0
 * A Jetson's release file and list of clients. What is taken has a positive PID, a size, and a short version.
 */
#include <stdlib.h>

#include "source/tegra/tegra.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    char release[GPU_TEXT_SIZE];
    int32_t pid;
    int64_t bytes;
    if (tegra_client_parse(text, &pid, &bytes) && (pid <= 0 || bytes < 0))
        abort();
    if (tegra_release_parse(text, release) && strlen(release) > 32)
        abort();
    return 0;
}
