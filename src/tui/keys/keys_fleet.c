/* SPDX-License-Identifier: Apache-2.0
 * Keys of the fleet view: which rows, in which order, and opening a host.
 */
#include <stdio.h>
#include <string.h>

#include "tui/fleet_rows.h"
#include "tui/keys/internal.h"

static void show_first_row(struct top *t)
{
    t->selected = t->first = 0;
    top_make_rows(t);
}

void top_show_fleet(struct top *t, int part)
{
    t->fleet->part = (enum fleet_list)((part + FLEET_PARTS) % FLEET_PARTS);
    t->fleet->open[0] = '\0';
    t->fleet->sort = FLEET_SORT_FIRST;
    t->fleet->reverse = false;
    show_first_row(t);
}

void top_open_fleet_host(struct top *t)
{
    struct top_fleet *f = t->fleet;
    if (f->open[0] || t->selected >= t->row_count)
        return;
    str_copy(f->open, sizeof f->open, str_from(fleet_row_host(&f->rows[t->selected])));
    f->back = t->selected;
    t->filter[0] = '\0';
    show_first_row(t);
}

static void close_fleet_host(struct top *t)
{
    if (t->fleet->open[0]) {
        t->fleet->open[0] = '\0';
        t->selected = t->fleet->back;
    } else {
        t->filter[0] = '\0';
    }
    top_make_rows(t);
}

static void sort_next(struct top *t, int step)
{
    struct top_fleet *f = t->fleet;
    bool skips_free = f->part == FLEET_PART_FREE || f->part == FLEET_PART_PROCESSES;
    do
        f->sort = (enum fleet_sort)(((int)f->sort + step + FLEET_SORT_COUNT) % FLEET_SORT_COUNT);
    while (skips_free && f->sort == FLEET_SORT_FREE);
    show_first_row(t);
}

static void copy_fleet_command(struct top *t)
{
    const struct top_fleet *f = t->fleet;
    char command[HOST_NAME_SIZE + 64];
    if (!f->open[0] && t->selected >= t->row_count)
        return;
    snprintf(command, sizeof command, "whirr --host %s top", f->open[0] ? f->open : fleet_row_host(&f->rows[t->selected]));
    top_copy(t, command);
}

bool top_key_of_fleet(struct top *t, int key)
{
    if (!t->fleet)
        return false;
    switch (key) {
    case 's': sort_next(t, 1); return true;
    case 'S': sort_next(t, -1); return true;
    case 'r':
        t->fleet->reverse = !t->fleet->reverse;
        top_make_rows(t);
        return true;
    case 'c': copy_fleet_command(t); return true;
    case 'v': top_show_fleet(t, (int)t->fleet->part + 1); return true;
    case 'V': top_show_fleet(t, (int)t->fleet->part - 1); return true;
    case TOP_KEY_ENTER: top_open_fleet_host(t); return true;
    case TOP_KEY_ESCAPE:
    case TOP_KEY_BACKSPACE: close_fleet_host(t); return true;
    case TOP_KEY_LEFT:
    case TOP_KEY_RIGHT:
        top_note(t, false, "All hosts are shown as of now. c copies the command that shows one of them with its past.");
        return true;
    default: break;
    }
    bool known = key >= 0x7f || strchr("q?/TWkjG12345678", key);
    if (!known && key > ' ')
        top_note(t, false, "That key is for one host: Enter opens one, 1 shows this one.");
    return !known;
}
