/* SPDX-License-Identifier: Apache-2.0
 * Requests a page from a model server, with its key.
 */
#include "remote/model_server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "net/http_client.h"
#include "net/talk.h"

enum { ASK_WITHIN_MS = 1000, HEADER_SIZE = RULE_KEY_SIZE + 32 };

/* Builds "Authorization: Bearer KEY"; "": no key. */
static int read_key(const struct env *env, const struct serving_rule *rule, char header[HEADER_SIZE], struct error *err)
{
    char text[RULE_KEY_SIZE];
    struct str key = str_from(rule->key);
    header[0] = '\0';
    if (rule->key_file[0]) {
        ssize_t len = file_read(env, rule->key_file, text, sizeof text);
        if (len < 0)
            return error_set(err, -EACCES, "cannot read '%s': %s", rule->key_file, strerror((int)-len));
        key = str_trim((struct str){text, (size_t)len});
        for (size_t i = 0; i < key.len; i++)
            if (key.at[i] < '!' || key.at[i] > '~')
                return error_set(err, -EACCES, "'%s' does not hold a key alone", rule->key_file);
    }
    if (key.len)
        snprintf(header, HEADER_SIZE, "Authorization: Bearer " STR_FMT, STR_ARG(key));
    return 0;
}

int fetch_page(const struct env *env, const struct serving_rule *rule, const char *address, uint16_t port, const char *page,
               const _Atomic bool *cancel, struct buf *body, struct error *err)
{
    char header[HEADER_SIZE] = "", url[RULE_HOST_SIZE + 96];
    int rc = rule ? read_key(env, rule, header, err) : 0;
    if (rc < 0)
        return rc;
    const char *sent = header[0] ? header : NULL;
    if (!rule || !rule->port || rule->plain)
        return talk_get(address[0] ? address : rule->host, port, page, sent, ASK_WITHIN_MS, cancel, body);
    snprintf(url, sizeof url, "%s://%s:%u/%s", rule->tls ? "https" : "http", rule->host, rule->port, page);
    return http_call(env,
                     &(struct http_request){.method = "GET",
                                            .url = url,
                                            .headers = (const char *const[]){sent, NULL},
                                            .connect_timeout_ms = ASK_WITHIN_MS,
                                            .timeout_ms = ASK_WITHIN_MS,
                                            .cancel = cancel},
                     body, err);
}
