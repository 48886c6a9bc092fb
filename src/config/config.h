/* SPDX-License-Identifier: Apache-2.0
 * The settings: typed, checked, with the origin of each. Layers, later wins:
 *
 *   defaults ─▶ profile ─▶ /etc/whirr/whirr.toml ─▶ the user's whirr.toml ─▶ environment ─▶ flags
 *                          └── or --config FILE (WHIRR_CONFIG) alone ────┘
 *
 * A struct config is built once and never edited; a reload builds a new one and compares. Knows no I/O but reading the files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/env.h"
#include "base/log.h"
#include "base/os/place.h"

enum { CONFIG_ENTRIES_MAX = 128, CONFIG_PROBLEMS_MAX = 64, CONFIG_CHANGES_MAX = 256, CONFIG_KEY_SIZE = 160 };

#define CONFIG_SYSTEM_FILE PLACE_SYSTEM_CONFIG
/* Environment variable: the directory above the system's /etc/whirr, /run/whirr and /var/lib/whirr; unset: the root. Tests set
 * it, so that they can't touch a daemon, configuration or database of the host. */
#define CONFIG_SYSTEM_ROOT "WHIRR_SYSTEM_ROOT"

/* Values of CHOICE settings, in the order of their words in config.def. log.level is an enum log_level, alert.severity an enum
 * severity. */
enum config_log_format { CONFIG_LOG_AUTO, CONFIG_LOG_TEXT, CONFIG_LOG_JSON, CONFIG_LOG_JOURNAL };
enum config_profile { CONFIG_PROFILE_NONE, CONFIG_PROFILE_DESKTOP, CONFIG_PROFILE_SERVER };
enum config_overheat { CONFIG_OVERHEAT_THROTTLE, CONFIG_OVERHEAT_PAUSE, CONFIG_OVERHEAT_NONE };
enum config_claim { CONFIG_CLAIM_NEEDS, CONFIG_CLAIM_ANY };
enum config_gate_mode { CONFIG_GATE_WAIT, CONFIG_GATE_REFUSE };
enum config_notify_type {
    CONFIG_NOTIFY_WEBHOOK,
    CONFIG_NOTIFY_SLACK,
    CONFIG_NOTIFY_DISCORD,
    CONFIG_NOTIFY_NTFY,
    CONFIG_NOTIFY_ALERTMANAGER,
    CONFIG_NOTIFY_COMMAND,
    CONFIG_NOTIFY_EMAIL,
    CONFIG_NOTIFY_TELEGRAM,
    CONFIG_NOTIFY_GOTIFY,
    CONFIG_NOTIFY_PUSHOVER,
    CONFIG_NOTIFY_MATRIX,
    CONFIG_NOTIFY_DESKTOP,
    CONFIG_NOTIFY_MQTT,
};
enum config_notify_tls { CONFIG_NOTIFY_TLS_REQUIRED, CONFIG_NOTIFY_TLS_NONE };
enum config_push_protocol { CONFIG_PUSH_REMOTE_WRITE, CONFIG_PUSH_REMOTE_WRITE_2, CONFIG_PUSH_OTLP, CONFIG_PUSH_OTLP_PROTOBUF };

/* Values of access.role: the names in http/token.h. */
enum { ACCESS_MAX = 64 };
#define ACCESS_ROLES "read|commands|silence|guard|control|admin"

/* Values of serving.kind: the order of enum model_server (remote/model_server.h), whose "unknown" is "auto". */
#define SERVING_KINDS                                                                                                    \
    "auto|vllm|aphrodite|llama.cpp|sglang|tensorrt-llm|lmdeploy|tgi|triton|comfyui|nim|dynamo|mlc|xinference|koboldcpp|" \
    "automatic1111|ollama|llama-swap|lm-studio|tabbyapi|speaches"

struct config_list {
    const char *const *items;
    size_t count;
};

struct config_pair {
    const char *key, *value;
};

struct config_map {
    const struct config_pair *pairs;
    size_t count;
};

enum config_origin_kind { CONFIG_FROM_DEFAULT, CONFIG_FROM_PROFILE, CONFIG_FROM_FILE, CONFIG_FROM_ENVIRONMENT, CONFIG_FROM_FLAG };

/* Where a value came from. */
struct config_origin {
    enum config_origin_kind kind;
    const char *where; /* the file, variable or flag; for a default, the setting it is inherited from, or NULL */
    int line, column;  /* in a file, else 0 */
};

/* The first member of every struct config_<section>. */
struct config_entry {
    const char *name;                    /* of a [path.NAME] table; "" otherwise */
    const struct config_origin *origins; /* one per setting, in the order of config.def */
    struct config_origin at;             /* of the table itself */
};

/* TEXT is never NULL; "" if unset. */
#define CONFIG_C_TYPE_BOOL bool
#define CONFIG_C_TYPE_INT int64_t
#define CONFIG_C_TYPE_NUMBER double
#define CONFIG_C_TYPE_DURATION int64_t
#define CONFIG_C_TYPE_BYTES int64_t
#define CONFIG_C_TYPE_TEXT const char *
#define CONFIG_C_TYPE_CHOICE int
#define CONFIG_C_TYPE_LIST struct config_list
#define CONFIG_C_TYPE_IDS struct config_list
#define CONFIG_C_TYPE_MAP struct config_map

/* config->server.listen, config->alert[i].when with i < config->alert_count, ... */
struct config {
#define SECTION(id, ...) \
    struct config_##id { \
        struct config_entry entry;
#define GROUP(id, ...) SECTION(id)
#define SETTING(id, field, key, type, ...) CONFIG_C_TYPE_##type field;
#define END_SECTION(id) \
    }                   \
    id;
#define END_GROUP(id) \
    }                 \
    *id;              \
    size_t id##_count;
#include "config/config.def"
#undef SECTION
#undef GROUP
#undef SETTING
#undef END_SECTION
#undef END_GROUP
    const char *files[2]; /* the files read */
    size_t file_count;
};

/* A setting given on the command line. */
struct config_flag {
    const char *key;   /* "server.listen" */
    const char *value; /* as in an environment variable; for a list, one item: repeated flags add up */
    const char *flag;  /* "--listen": for messages and `config show` */
};

struct config_inputs {
    const struct env *env;
    const char *file;               /* --config: read only this file; NULL: WHIRR_CONFIG's, else the system's and the user's */
    const char *const *environment; /* "NAME=value", NULL-terminated, like environ; NULL: none. Also locates the user's file */
    const struct config_flag *flags;
    size_t flag_count;
    bool forgiving; /* report errors in default files, but continue with default values */
};

struct config_problem {
    bool warning;     /* the configuration remains usable */
    bool unread;      /* about a skipped file; commands mention it, too */
    char where[256];  /* "whirr.toml:12:3", "environment WHIRR_LOG_LEVEL", "--listen" */
    char file[256];   /* "" if not about a file */
    int line, column; /* 0: about the whole file */
    char text[512];
    char excerpt[320]; /* lines to show below, each with a newline: a condition and a caret; "" none */
};

struct config_problems {
    struct config_problem list[CONFIG_PROBLEMS_MAX];
    size_t count, errors;
    size_t fatal;    /* errors that stop even a forgiving reader */
    size_t left_out; /* beyond CONFIG_PROBLEMS_MAX */
};

/* Leaves the large list untouched: nothing reads beyond `count`. */
void config_problems_clear(struct config_problems *problems);

/* Reads and checks everything, and reports all problems at once. -EINVAL on errors (forgiving: only on fatal ones), with *ret
 * untouched. */
int config_load(const struct config_inputs *inputs, struct config **ret, struct config_problems *problems);
void config_free(struct config *config);

/* Adds a problem found by the code that uses a setting, and returns it (NULL: too many). */
struct config_problem *problem_add(struct config_problems *problems, bool warning, const struct config_origin *origin,
                                   const char *format, ...) __attribute__((format(gnu_printf, 4, 5)));
/* Origin of a setting: config_origin_of(&config->alert[i].entry, "alert", "when"). */
const struct config_origin *config_origin_of(const struct config_entry *entry, const char *section, const char *key);

/* An item of server.proxies: what identifies the proxy. */
enum { CONFIG_PROXIES_MAX = 16 };
struct config_proxy {
    const char *certificate; /* its common name; NULL: identified by the user of the Unix socket */
    uid_t uid;
};
bool config_proxy_parse(const char *text, struct config_proxy *ret, char *why, size_t size);

/* [worker] sets eviction rules, but no worker is configured: the defaults apply to nothing. */
bool config_guards_nothing(const struct config *config);

/* sampling.interval_seconds in ms, at least 1. */
int64_t config_interval_ms(const struct config *config);

/* What a reload would change. */
struct config_change {
    char key[CONFIG_KEY_SIZE]; /* "server.listen", "guard.worker.ollama.url", or an added or removed table */
    bool needs_restart;
};

struct config_changes {
    struct config_change list[CONFIG_CHANGES_MAX];
    size_t count, applied, needing_restart;
    size_t left_out; /* beyond CONFIG_CHANGES_MAX */
};

void config_compare(const struct config *before, const struct config *after, struct config_changes *changes);

/* "/etc/whirr/whirr.toml:12", "environment GPU_POLL_INTERVAL_SECONDS", "default", ... */
void config_origin_text(const struct config_origin *origin, char *text, size_t size);

/* A commented file with all settings at their defaults. */
void config_write_default(struct buf *out);
/* The effective settings as TOML, each with its origin in a comment; hides secrets unless requested. */
void config_write_show(const struct config *config, bool secrets, struct buf *out);
void config_write_show_json(const struct config *config, bool secrets, struct buf *out);
/* Whether a setting of this name is always hidden, in any section. */
bool config_key_is_secret(struct str key);
/* docs/configuration.md. */
void config_write_docs(struct buf *out);
/* whirr.toml(5), as source for scdoc(5). config_plain escapes text for scdoc. */
typedef void config_plain(struct buf *out, const char *text);
void config_write_manual(struct buf *out, config_plain *plain);
