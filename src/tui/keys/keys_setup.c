/* SPDX-License-Identifier: Apache-2.0
 * Keys of the setup screen. Every change is previewed; W saves.
 */
#include "base/cleanup.h"
#include "tui/keys/internal.h"
#include "tui/setup.h"

void top_open_setup(struct top *t)
{
    t->mode = MODE_SETUP;
    t->choice = (size_t)setup_item_at(&t->settings, (enum setup_part)t->setup, 0);
}

void top_setup_part(struct top *t, int part)
{
    t->setup = (part + SETUP_PARTS) % SETUP_PARTS;
    t->choice = (size_t)setup_item_at(&t->settings, (enum setup_part)t->setup, 0);
}

static void next_window(struct top *t)
{
    bool last = t->settings.window_ms == top_windows_ms[top_window_count - 1];
    for (size_t i = 0; i < (last ? top_window_count : 1); i++)
        top_change_window(t, last ? -1 : 1);
}

void top_setup_change(struct top *t)
{
    enum setup_part part = (enum setup_part)t->setup;
    t->note[0] = '\0';
    if (part == SETUP_SHOWN) {
        if ((int)t->choice < setup_count(t, part))
            top_toggle_gpu(t, (int)t->choice);
        return;
    }
    const struct setup_item *item = &setup_lists[part].items[t->choice];
    if (part != SETUP_LOOK)
        setup_toggle(&t->settings, part, (int)t->choice);
    else if (item->key == 'w')
        next_window(t);
    else if (item->key)
        top_key_main(t, item->key);
    else
        t->settings.act = !t->settings.act && !t->read_only;
    t->note[0] = '\0';
    top_make_rows(t);
}

static void restore_defaults(struct top *t)
{
    enum setup_part part = (enum setup_part)t->setup;
    bool act = t->settings.act; /* consent is not a matter of looks */
    if (part == SETUP_PROCESSES) {
        t->settings.columns = top_defaults.columns;
        memset(t->settings.order, 0, sizeof t->settings.order);
    } else if (part == SETUP_SHOWN) {
        t->settings.gpus[0] = '\0';
        top_want(t, REQUEST_GPUS);
    } else if (part != SETUP_LOOK) {
        t->settings.off[part] = 0;
    } else {
        struct top_settings fresh = top_defaults;
        fresh.columns = t->settings.columns;
        memcpy(fresh.order, t->settings.order, sizeof fresh.order);
        for (size_t i = 0; i < ARRAY_LEN(fresh.off); i++)
            fresh.off[i] = t->settings.off[i];
        str_copy(fresh.gpus, sizeof fresh.gpus, str_from(t->settings.gpus));
        t->settings = fresh;
        t->settings.act = act;
    }
    top_make_rows(t);
}

void top_key_setup(struct top *t, int key)
{
    enum setup_part part = (enum setup_part)t->setup;
    switch (key) {
    case TOP_KEY_ESCAPE:
    case TOP_KEY_F1 + 1:
    case 'q':
    case 'o': t->mode = MODE_MAIN; break;
    case TOP_KEY_UP:
    case 'k': t->choice = (size_t)setup_next(t, part, (int)t->choice, -1); break;
    case TOP_KEY_DOWN:
    case 'j': t->choice = (size_t)setup_next(t, part, (int)t->choice, 1); break;
    case TOP_KEY_TAB:
    case TOP_KEY_RIGHT:
    case 'l': top_setup_part(t, t->setup + 1); break;
    case TOP_KEY_BACK_TAB:
    case TOP_KEY_LEFT:
    case 'h': top_setup_part(t, t->setup - 1); break;
    case ' ':
    case TOP_KEY_ENTER: top_setup_change(t); break;
    case 'r': restore_defaults(t); break;
    case 'W': top_want(t, REQUEST_SAVE); break;
    case 'J':
    case 'K':
        if (part == SETUP_PROCESSES)
            setup_move(&t->settings, (int)t->choice, key == 'J' ? 1 : -1);
        break;
    default: break;
    }
}
