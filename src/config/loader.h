/* SPDX-License-Identifier: Apache-2.0
 * A configuration under construction: state shared by the layers. Private to config/.
 */
#pragma once

#include "config/config_schema.h"

struct loader {
    const struct config_inputs *inputs;
    struct config *config;
    struct arena *arena;
    struct config_problems *problems;
    const char *file; /* being read */
    bool distrusted;  /* other users could have written it */
    bool out_of_memory;
};

/* Allocates the name and origins of a table; false: out of memory. */
bool loader_prepare_entry(struct loader *l, const struct section *section, struct config_entry *entry, struct str name);

/* Applies all settings of one file. */
void loader_read_file(struct loader *l, const struct env *env, const char *path, bool must_exist);

/* A variable of the environment; NULL: unset or empty. */
const char *loader_variable(const struct config_inputs *inputs, const char *name);
/* The secret setting that `key` (token_file) names the file of; NULL: it is no such key. */
const struct setting *loader_secret_of(const struct section *section, struct str key);
/* Sets it to the contents of the file, or of the credential of systemd with that name. */
void loader_read_secret(struct loader *l, const struct section *section, struct config_entry *entry, const struct setting *s,
                        const char *named, const struct config_origin *origin);
/* Sets what credentials are named after. */
void loader_read_credentials(struct loader *l);

/* How to make a file readable for this user, which is the daemon's: not with chmod 600, which serves the owner. */
const char *loader_way_to_read(const char *path, char text[WHY_SIZE]);
/* Reports files named by settings that this user can't read, and secrets in world-readable files. */
void loader_check_access(struct loader *l);

/* Whether only root and this user can have written the file; if not, why. */
bool loader_trusts(const struct env *env, const char *path, char why[WHY_SIZE]);

static inline struct config_origin *loader_origin(const struct section *section, const struct config_entry *entry,
                                                  const struct setting *s)
{
    /* Only the loader fills what all other code sees as const. */
    return (struct config_origin *)&entry->origins[s - section->settings];
}
