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

struct told_target {
    size_t count;
    char target[1][320];
    const char *host, *scheme;
};

ANSWER_TABLE(labels_answer, struct told_target)
{
    FIELD(WORD, "host", host, NULL);
    FIELD(WORD, "__scheme__", scheme, NULL);
}

SHARED_ANSWER_TABLE(target_answer, struct told_target, .name = "ScrapeTarget")
{
    TEXTS(TEXT, "targets", target, count, NULL);
    PART("labels", labels_answer, NULL);
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
    struct told_target told = {.count = 1, .host = name, .scheme = plain ? "http" : "https"};
    snprintf(told.target[0], sizeof told.target[0], STR_FMT "%s", STR_ARG(path), has_port(path) ? "" : ":" DEFAULT_PORT);
    answer_write(j, &target_answer, &told, NULL);
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
