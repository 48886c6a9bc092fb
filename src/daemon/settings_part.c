/* SPDX-License-Identifier: Apache-2.0
 * GET /api/settings: the settings in force with the origin of each, secrets hidden. Nothing can be changed here. GET /api/findings:
 * what each code of a finding means under them.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/part.h"
#include "format/json/json.h"

enum { TEXT_MAX = 4 << 20 };

struct settings_part {
    struct buf text;
    struct finding_settings findings;
};

static void settings_part_reload(void *part, const struct config *config)
{
    struct settings_part *p = part;
    struct buf text = BUF(TEXT_MAX);
    config_findings(config, &p->findings);
    config_write_show_json(config, false, &text);
    if (text.failed) { /* out of memory: the old ones are better than none */
        buf_done(&text);
        return;
    }
    buf_done(&p->text);
    p->text = text;
}

static void *open_settings(const struct part_host *host, struct error *err)
{
    (void)err;
    struct settings_part *p = calloc(1, sizeof *p);
    if (p)
        settings_part_reload(p, host->config);
    return p;
}

static int get_settings(void *part, const struct part_request *request, struct buf *out)
{
    (void)request;
    const struct settings_part *p = part;
    buf_add(out, p->text.at, p->text.len);
    return 200;
}

static int get_findings(void *part, const struct part_request *request, struct buf *out)
{
    (void)request;
    const struct settings_part *p = part;
    struct json_writer j = JSON_WRITER(out);
    json_finding_codes(&j, &p->findings);
    buf_char(out, '\n');
    return 200;
}

static void close_settings(void *part)
{
    struct settings_part *p = part;
    if (p)
        buf_done(&p->text);
    free(p);
}

static const struct route routes_of_settings[] = {
    {"/api/findings", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_findings},
    {"/api/settings", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_settings},
};

const struct part_ops settings_part_ops = {.name = "settings",
                                           .routes = routes_of_settings,
                                           .route_count = ARRAY_LEN(routes_of_settings),
                                           .open = open_settings,
                                           .reload = settings_part_reload,
                                           .close = close_settings};
