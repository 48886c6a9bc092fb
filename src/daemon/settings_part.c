/* SPDX-License-Identifier: Apache-2.0
 * GET /api/settings: the active settings and their origins, secrets hidden; read-only. GET /api/findings: what each finding code
 * means under them.
 */
#include <stdlib.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "config/findings.h"
#include "daemon/part.h"
#include "format/json/json.h"

enum { TEXT_MAX = 4 << 20 };

struct settings_part {
    struct buf text;
    struct finding_settings findings;
    char refused[512]; /* why the last reload was refused; "": it was not */
};

static void settings_part_reload(void *part, const struct config *config)
{
    struct settings_part *p = part;
    struct buf text = BUF(TEXT_MAX);
    config_findings(config, &p->findings);
    p->refused[0] = '\0';
    config_write_show_json(config, false, &text);
    if (text.failed) { /* out of memory: the old text is better than none */
        buf_done(&text);
        return;
    }
    buf_done(&p->text);
    p->text = text;
}

void settings_part_refuse(void *part, const char *why)
{
    struct settings_part *p = part;
    if (p)
        str_copy(p->refused, sizeof p->refused, str_from(why));
}

ANSWER_MAKER(settings_state, struct settings_part, word, of->refused[0] ? "old" : "ok");

SHARED_ANSWER_TABLE(settings_health_answer, struct settings_part, .name = "SettingsHealth")
{
    MADE(WORD, "state", settings_state, "old: the last reload found mistakes, and the settings before it are in force",
         .schema = "{\"enum\": [\"ok\", \"old\", \"off\"]}");
    FIELD(TEXT, "message", refused, "The first mistake", OR_NULL);
}

static void settings_health(void *part, struct json_writer *j)
{
    answer_write(j, &settings_health_answer, part, NULL);
}

static bool settings_are_old(void *part)
{
    return ((const struct settings_part *)part)->refused[0];
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
    json_finding_codes(JSON_LINE(out), &p->findings);
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
                                           .health = settings_health,
                                           .is_degraded = settings_are_old,
                                           .close = close_settings};
