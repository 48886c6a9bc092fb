/* SPDX-License-Identifier: Apache-2.0
 * The configured hosts as targets for Prometheus: the body for http_sd, and a file for file_sd.
 */
#include <stdio.h>

#include "config/config.h"
#include "format/json/json.h"

#define DEFAULT_PORT "9447"

/* Whether a port follows the host, which may be an address in brackets. */
static bool has_port(struct str host)
{
    size_t colons = 0;
    for (size_t i = 0; i < host.len; i++)
        colons += host.at[i] == ':';
    const char *bracket = memrchr(host.at, ']', host.len);
    return bracket ? bracket + 1 < host.at + host.len : colons == 1;
}

static void write_target(struct json_writer *j, const char *name, struct str address)
{
    bool plain = str_starts(address, "http://"), loopback;
    struct str host = address, path;
    if (plain || str_starts(address, "https://"))
        host = (struct str){address.at + (plain ? 7 : 8), address.len - (plain ? 7 : 8)};
    if (!str_cut(&host, '/', &path))
        path = str_from(name);
    loopback = str_starts(path, "127.") || str_starts(path, "localhost") || str_starts(path, "[::1]");
    plain |= loopback && !str_starts(address, "https://");
    char target[320];
    snprintf(target, sizeof target, STR_FMT "%s", STR_ARG(path), has_port(path) ? "" : ":" DEFAULT_PORT);
    jw_object(j);
    jw_key_array(j, "targets");
    jw_text(j, target);
    jw_end(j);
    jw_key_object(j, "labels");
    jw_key_text(j, "host", name);
    jw_key_text(j, "__scheme__", plain ? "http" : "https");
    jw_end(j);
    jw_end(j);
}

void json_scrape_targets(struct json_writer *j, const struct config *config)
{
    jw_array(j);
    for (size_t i = 0; i < config->hosts_count; i++) {
        struct str address = str_from(config->hosts[i].address);
        if (!str_starts(address, "ssh:"))
            write_target(j, config->hosts[i].entry.name, address.len ? address : str_from(config->hosts[i].entry.name));
    }
    jw_end(j);
}
