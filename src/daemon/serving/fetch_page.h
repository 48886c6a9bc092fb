/* SPDX-License-Identifier: Apache-2.0
 * One page of a model server: directly on loopback and at numeric addresses, through libcurl elsewhere and with TLS.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "base/env.h"
#include "base/error.h"
#include "config/config.h"
#include "daemon/serving/model_server.h"

/* Rules from [serving.NAME] about model servers: their place, kind and name, and which ones to leave alone. Pure functions of
 * settings and processes. */

enum { RULE_HOST_SIZE = 256, RULE_KEY_SIZE = 1024, RULE_FILE_SIZE = 512 };

struct serving_rule {
    char name[PROCESS_TITLE_SIZE];
    enum model_server kind;                    /* UNKNOWN: derive it from the process */
    char process[PROCESS_CONTAINER_NAME_SIZE]; /* "": whichever listens on the port */
    char host[RULE_HOST_SIZE];                 /* "127.0.0.1", "[::1]", "gpu.example.org" */
    uint16_t port;                             /* 0: no URL */
    bool tls, loopback;
    bool plain; /* an address that needs no libcurl */
    bool ignore;
    char key[RULE_KEY_SIZE], key_file[RULE_FILE_SIZE];
};

struct serving_rules {
    size_t count;
    struct serving_rule list[];
};

/* NULL: out of memory. Release with free(). */
struct serving_rules *serving_rules_new(const struct config *config);

/* The first rule that names the process or its container, or NULL. */
const struct serving_rule *serving_rule_of_process(const struct serving_rules *rules, const struct process *p);
/* The first rule about all servers of a kind. */
const struct serving_rule *serving_rule_of_kind(const struct serving_rules *rules, enum model_server kind);
/* The next rule from `at` on that applies to whichever process listens on its port, or NULL. */
const struct serving_rule *serving_rule_of_port(const struct serving_rules *rules, size_t *at);
/* Whether to leave a loopback port alone. */
bool serving_rules_ignore(const struct serving_rules *rules, uint16_t port);

/* Returns the status and appends the page to `body`, or -errno. `rule` may be NULL; its key is sent along. `address` reaches it
 * on this host's loopback; "": use the rule's URL. -EACCES and a message: the key is unreadable, and no request was sent. */
int fetch_page(const struct env *env, const struct serving_rule *rule, const char *address, uint16_t port, const char *page,
               const _Atomic bool *cancel, struct buf *body, struct error *err);
