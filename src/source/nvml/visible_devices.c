/* SPDX-License-Identifier: Apache-2.0
 * What NVIDIA_VISIBLE_DEVICES lets us show: all, none, void (the container runtime has chosen), indexes, UUIDs, and instances as
 * "INDEX:INSTANCE" or "MIG-...".
 */
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "source/nvml/outside.h"

enum nvml_visible_kind visible_kind(const char *list)
{
    if (!list)
        return VISIBLE_ALL;
    struct str s = str_trim(str_from(list));
    if (s.len == 0 || str_is(s, "none"))
        return VISIBLE_NONE;
    /* "void": a CDI specification has chosen the devices. A path: the runtime takes the list from mounts. Both are applied
     * already. */
    return str_is(s, "all") || str_is(s, "void") || s.at[0] == '/' ? VISIBLE_ALL : VISIBLE_LISTED;
}

static size_t entries_of(const char *list, bool *ret_numbers)
{
    struct str rest = str_from(list), part;
    size_t count = 0;
    int64_t number;
    *ret_numbers = true;
    while (str_cut(&rest, ',', &part)) {
        *ret_numbers &= str_to_i64(str_trim(part), &number);
        count++;
    }
    return count;
}

/* Inside a container the runtime has applied the list, and NVML renumbers the remaining cards from 0, while the list still has
 * the host's numbers. If there are as many numbers as cards, show all. */
static bool applied_already(const char *list, size_t card_count)
{
    bool numbers;
    return entries_of(list, &numbers) == card_count && numbers;
}

/* Whether the list's entries say what to show; if not, *ret_everything: everything or nothing. */
static bool entries_decide(const char *list, size_t card_count, bool *ret_everything)
{
    enum nvml_visible_kind kind = visible_kind(list);
    *ret_everything = kind == VISIBLE_ALL || (kind == VISIBLE_LISTED && applied_already(list, card_count));
    return kind == VISIBLE_LISTED && !*ret_everything;
}

static bool begins_uuid(struct str entry, const char *uuid)
{
    return uuid[0] && entry.len >= 8 && str_starts(str_from(uuid), "GPU-") && entry.len <= strlen(uuid) &&
           strncasecmp(entry.at, uuid, entry.len) == 0;
}

/* A UUID, or a unique prefix as NVIDIA's own tools accept: an ambiguous one names none. */
static bool names_uuid(struct str entry, const char *uuid, const struct visible_uuids *all)
{
    size_t matches = 0;
    for (size_t i = 0; all && i < all->count; i++)
        matches += begins_uuid(entry, all->at[i]);
    return begins_uuid(entry, uuid) && (matches <= 1 || entry.len == strlen(uuid));
}

bool visible_card(const char *list, size_t card_count, int index, const char *uuid, const struct visible_uuids *all)
{
    bool everything;
    if (!entries_decide(list, card_count, &everything))
        return everything;
    struct str rest = str_from(list), part;
    while (str_cut(&rest, ',', &part)) {
        struct str entry = str_trim(part), instance = entry, card;
        int64_t number;
        if (str_is(entry, "all") || names_uuid(entry, uuid, all))
            return true;
        if (!uuid[0] && (str_starts(entry, "MIG-") || str_starts(entry, "GPU-")))
            return true; /* decided later, once its UUID and instances are known */
        if (str_cut(&instance, ':', &card) && str_to_i64(card, &number) && number == index)
            return true;
    }
    return false;
}

bool visible_instance(const char *list, size_t card_count, int index, const char *uuid, int instance, const char *instance_uuid)
{
    bool everything;
    if (!entries_decide(list, card_count, &everything))
        return everything;
    struct str rest = str_from(list), part;
    while (str_cut(&rest, ',', &part)) {
        struct str entry = str_trim(part), which = entry, card;
        int64_t number, wanted;
        if (str_is(entry, "all") || names_uuid(entry, uuid, NULL))
            return true;
        if (str_starts(entry, "MIG-") && str_equal(entry, str_from(instance_uuid)))
            return true;
        if (!str_cut(&which, ':', &card) || !str_to_i64(card, &number) || number != index)
            continue;
        if (which.len == 0 || (str_to_i64(which, &wanted) && wanted == instance))
            return true;
    }
    return false;
}
