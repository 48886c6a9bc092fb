/* SPDX-License-Identifier: Apache-2.0
 * Where no kernel takes samples of addresses: in the place of address_samples.c.
 */
#include <stdio.h>

#include "host/evidence/address_samples.h"

void address_samples_take(const struct env *env, int32_t pid, int64_t ms, struct address_samples *ret)
{
    (void)env, (void)pid, (void)ms;
    *ret = (struct address_samples){.state = READING_UNSUPPORTED};
    snprintf(ret->why, sizeof ret->why, "whirr takes no samples of programs on this system yet");
}

const char *address_samples_words(const struct address_samples *s, char out[ADDRESS_WORDS])
{
    snprintf(out, ADDRESS_WORDS, "%s", s->why);
    return out;
}

const char *address_group_name(enum address_group group)
{
    (void)group;
    return "";
}
