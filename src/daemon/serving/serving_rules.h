/* SPDX-License-Identifier: Apache-2.0
 * What [serving.NAME] says of model servers: where they are, which they are, what they are called, which are left alone. Pure
 * functions of settings and processes.
 */
#pragma once

#include "config/config.h"
#include "daemon/serving/model_server.h"

enum { RULE_HOST_SIZE = 256, RULE_KEY_SIZE = 1024, RULE_FILE_SIZE = 512 };

struct serving_rule {
    char name[PROCESS_TITLE_SIZE];
    enum model_server kind;                    /* UNKNOWN: as its process shows */
    char process[PROCESS_CONTAINER_NAME_SIZE]; /* "": whichever listens on the port */
    char host[RULE_HOST_SIZE];                 /* "127.0.0.1", "[::1]", "gpu.example.org" */
    uint16_t port;                             /* 0: no URL */
    bool tls, loopback;
    bool plain; /* an address that can be asked without libcurl */
    bool ignore;
    char key[RULE_KEY_SIZE], key_file[RULE_FILE_SIZE];
};

struct serving_rules {
    size_t count;
    struct serving_rule list[];
};

/* NULL: out of memory. free(). */
struct serving_rules *serving_rules_new(const struct config *config);

/* The first rule that names the process or its container; NULL: none. */
const struct serving_rule *serving_rule_of_process(const struct serving_rules *rules, const struct process *p);
/* The first one about all servers of a kind. */
const struct serving_rule *serving_rule_of_kind(const struct serving_rules *rules, enum model_server kind);
/* The next one, from `at` on, about whichever process listens on its port; NULL: none. */
const struct serving_rule *serving_rule_of_port(const struct serving_rules *rules, size_t *at);
/* Whether a port on loopback is to be left alone. */
bool serving_rules_ignore(const struct serving_rules *rules, uint16_t port);
