/* SPDX-License-Identifier: Apache-2.0
 * A configuration that is being built: what the layers share. Private to config/.
 */
#pragma once

#include "config/schema.h"

struct loader {
    const struct config_inputs *inputs;
    struct config *config;
    struct arena *arena;
    struct config_problems *problems;
    const char *file; /* being read */
    bool distrusted;  /* others could have written it */
    bool out_of_memory;
};

/* The memory of a table's name and origins; false when there is none. */
bool loader_prepare_entry(struct loader *l, const struct section *section, struct config_entry *entry, struct str name);

/* Everything that one file sets. */
void loader_read_file(struct loader *l, const struct env *env, const char *path, bool must_exist);

/* How a file becomes readable for this user, who is the daemon's: not by chmod 600, which is for its owner. */
const char *loader_way_to_read(const char *path, char text[WHY_SIZE]);
/* Files that settings name, which this user can't read, and secrets in files that everyone can. */
void loader_check_access(struct loader *l);

/* Whether only root and this user can have written the file; else why not. */
bool loader_trusts(const struct env *env, const char *path, char why[WHY_SIZE]);

static inline struct config_origin *loader_origin(const struct section *section, const struct config_entry *entry,
                                                  const struct setting *s)
{
    /* Only the loader fills what all other code sees as const. */
    return (struct config_origin *)&entry->origins[s - section->settings];
}
