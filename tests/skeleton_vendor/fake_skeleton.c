/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_skeleton.h"

#include <stdio.h>

void fake_skeleton_set(struct tree *t, int card, const char *file, const char *value)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/sys/class/skeleton/card%d/%s", card, file);
    tree_write(t, path, value);
}

void fake_skeleton_add(struct tree *t, int card, const char *uuid, const char *pci_address)
{
    fake_skeleton_set(t, card, "uuid", uuid);
    fake_skeleton_set(t, card, "pci_address", pci_address);
    fake_skeleton_set(t, card, "name", "Skeleton One");
    fake_skeleton_set(t, card, "temperature", "40");
    fake_skeleton_set(t, card, "throttle", "");
}

void fake_skeleton_remove(struct tree *t, int card)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/sys/class/skeleton/card%d", card);
    tree_remove(t, path);
}
