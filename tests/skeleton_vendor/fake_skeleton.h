/* SPDX-License-Identifier: Apache-2.0
 * A fake of the skeleton's driver: cards that a test adds, changes and removes.
 */
#pragma once

#include "source/tree.h"

void fake_skeleton_add(struct tree *t, int card, const char *uuid, const char *pci_address);
/* One file of a card: "temperature", "71". */
void fake_skeleton_set(struct tree *t, int card, const char *file, const char *value);
void fake_skeleton_remove(struct tree *t, int card);
