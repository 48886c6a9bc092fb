/* SPDX-License-Identifier: Apache-2.0
 * fdinfo: two readings of a client in a row, whatever they say; shares stay between nothing and all.
 */
#include <stdlib.h>

#include "source/drm/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A NUL parts the first reading from the second. */
    struct str rest = {(const char *)data, size}, text;
    struct clients clients = {0};
    struct mono now = {1};
    for (uint32_t scan = 1; scan <= 4 && str_cut(&rest, '\0', &text); scan++) {
        struct fdinfo info;
        now.ns += 1000000;
        if (!fdinfo_parse(text, &info))
            continue;
        require(info.engine_count <= FDINFO_ENGINES && info.driver[0]);
        require(info.vram_bytes < INT64_MAX && info.system_bytes < INT64_MAX);
        int at = clients_place(&clients, info.pdev[0] ? info.pdev : "card0", info.client_id);
        require(at >= 0 && at == clients_place(&clients, info.pdev[0] ? info.pdev : "card0", info.client_id));
        client_update(&clients.list[at], &info, now, scan);
        for (size_t i = 0; i < clients.list[at].engine_count; i++)
            require(clients.list[at].engines[i].permille >= -1 && clients.list[at].engines[i].permille <= 1000);
    }
    clients_done(&clients);
    return 0;
}
