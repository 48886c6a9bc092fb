/* SPDX-License-Identifier: Apache-2.0
 * Parses [serving.NAME], and matches processes against it.
 */
#include "remote/model_server.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_url(struct serving_rule *rule, const char *url)
{
    struct str_place place;
    struct in_addr four;
    if (!url[0] || !str_to_url_place(url, &place))
        return;
    rule->port = (uint16_t)place.port;
    rule->tls = str_starts(str_from(url), "https://");
    rule->loopback = str_is_loopback(place.host);
    snprintf(rule->host, sizeof rule->host, place.bracketed ? "[" STR_FMT "]" : STR_FMT, STR_ARG(place.host));
    bool six = place.bracketed, is_four = inet_pton(AF_INET, rule->host, &four) == 1;
    if (rule->loopback && !six && !is_four) /* a host name */
        str_copy(rule->host, sizeof rule->host, STR("127.0.0.1"));
    rule->plain = !rule->tls && (rule->loopback || is_four);
}

static void read_rule(struct serving_rule *rule, const struct config_serving *s)
{
    *rule = (struct serving_rule){.kind = (enum model_server)s->kind, .ignore = s->ignore};
    str_copy(rule->name, sizeof rule->name, str_from(s->entry.name));
    str_copy(rule->process, sizeof rule->process, str_from(s->process));
    str_copy(rule->key, sizeof rule->key, str_from(s->key));
    str_copy(rule->key_file, sizeof rule->key_file, str_from(s->key_file));
    read_url(rule, s->url);
}

struct serving_rules *serving_rules_new(const struct config *config)
{
    struct serving_rules *rules = calloc(1, sizeof *rules + config->serving_count * sizeof rules->list[0]);
    for (size_t i = 0; rules && i < config->serving_count; i++)
        read_rule(&rules->list[rules->count++], &config->serving[i]);
    return rules;
}

/* "NAMESPACE/POD/CONTAINER" also matches by its last part. */
static bool is_container(const char *container, const char *wanted)
{
    const char *slash = strrchr(container, '/');
    return strcmp(container, wanted) == 0 || (slash && strcmp(slash + 1, wanted) == 0);
}

const struct serving_rule *serving_rule_of_process(const struct serving_rules *rules, const struct process *p)
{
    for (size_t i = 0; i < rules->count; i++) {
        const char *wanted = rules->list[i].process;
        if (wanted[0] && (strcmp(p->name, wanted) == 0 || strcmp(p->title, wanted) == 0 ||
                          is_container(p->container_name, wanted) || strcmp(p->container, wanted) == 0))
            return &rules->list[i];
    }
    return NULL;
}

const struct serving_rule *serving_rule_of_kind(const struct serving_rules *rules, enum model_server kind)
{
    for (size_t i = 0; i < rules->count; i++)
        if (kind != SERVER_UNKNOWN && rules->list[i].kind == kind && !rules->list[i].port && !rules->list[i].process[0])
            return &rules->list[i];
    return NULL;
}

const struct serving_rule *serving_rule_of_port(const struct serving_rules *rules, size_t *at)
{
    while (*at < rules->count) {
        const struct serving_rule *rule = &rules->list[(*at)++];
        if (rule->port && rule->loopback && !rule->process[0])
            return rule;
    }
    return NULL;
}

bool serving_rules_ignore(const struct serving_rules *rules, uint16_t port)
{
    const struct serving_rule *rule;
    for (size_t at = 0; (rule = serving_rule_of_port(rules, &at));)
        if (rule->ignore && rule->port == port)
            return true;
    return false;
}
