/* SPDX-License-Identifier: Apache-2.0
 * How keys and the mouse change the state, one file per subject.
 */
#pragma once

#include "tui/top.h"

/* ---- time.c ---- */
void top_go_live(struct top *t);
void top_go_to(struct top *t, int64_t at_ms);
void top_step(struct top *t, int64_t steps);
/* Moves to the previous or next event. */
void top_go_to_event(struct top *t, int by);
void top_change_window(struct top *t, int by);
void top_key_goto(struct top *t, int key);

/* ---- keys_setup.c ---- */
void top_open_setup(struct top *t);
void top_setup_part(struct top *t, int part);
/* Toggles the selected item, or switches to its next value. */
void top_setup_change(struct top *t);
void top_key_setup(struct top *t, int key);

/* ---- keys_process.c ---- */
/* Moves the selection of the table, or scrolls the tab. */
void top_move(struct top *t, int64_t by);
void top_sort_by(struct top *t, const char *key);
void top_sort_next(struct top *t, int by);
void top_choose_gpu(struct top *t, int by);
void top_tag(struct top *t);
void top_follow(struct top *t);
void top_next_group(struct top *t);
void top_key_filter(struct top *t, int key);
void top_open_details(struct top *t);
void top_key_details(struct top *t, int key);
void top_open_signals(struct top *t);
void top_open_signal(struct top *t, int number);
void top_key_signal(struct top *t, int key);
void top_key_consent(struct top *t, int key);
void top_open_nice(struct top *t, int by);
void top_key_nice(struct top *t, int key);

/* ---- keys_fleet.c ---- */
/* False: not a key of the fleet view. */
bool top_key_of_fleet(struct top *t, int key);
/* Shows that list of all hosts from the top, in its default order. */
void top_show_fleet(struct top *t, int part);
void top_open_fleet_host(struct top *t);

/* ---- keys.c ---- */
void top_key_main(struct top *t, int key);
void top_copy(struct top *t, const char *command);
void top_show_host(struct top *t, size_t which);
/* Keys that move in the main view. */
void top_key_move(struct top *t, int key);
/* Edits the input line; false: not an editing key. */
bool top_edit(char text[TOP_INPUT_SIZE], int key);
