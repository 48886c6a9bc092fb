/* SPDX-License-Identifier: Apache-2.0
 * The parts of the source.
 *
 *   nvidia_smi.c  open, list, refresh, sample; the cards from one run to the next: found, lost, asleep, hidden
 *   tool.c        runs the program: which columns it knows, time limit, what its failures mean
 *   report.h      what the outputs say: report.c, xml.c, fields.c
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "source/nvidia_smi/nvidia_smi_report.h"
#include "source/source.h"

/* A card between runs. */
struct smi_known_card {
    struct gpu_id id;
    int index;
    bool asleep;
    struct mono skip_until; /* while lost it hides the others, so don't query it until then */
    struct gpu now;         /* from the newest query, with compute processes */
    struct gpu slow;        /* from the newest -q -x */
    bool listed;            /* nvidia-smi has listed it at least once */
};

/* Message for a card that may be the one of such a row. */
#define NAMELESS "nvidia-smi lists a GPU without its UUID and PCI address; it is asked again"

/* The driver's spelling of a column. */
enum spelling { SPELLING_UNKNOWN, SPELLING_NEW, SPELLING_OLD };

struct smi {
    struct source source;
    const struct env *env;
    struct mono deadline; /* of this refresh, for all its runs */
    bool columns_known;
    char program[PATH_SIZE]; /* name, or path if not in PATH */
    enum spelling spelling[COLUMN_COUNT_MAX];
    bool xml_only; /* a driver older than --query-gpu */
    bool changed;
    struct smi_known_card *cards;
    size_t count;
    size_t awake;   /* in sysfs, listed by nvidia-smi or not */
    size_t hidden;  /* by NVIDIA_VISIBLE_DEVICES */
    bool no_memory; /* out of memory for a new one */
    struct driver_info driver;
    struct mono queried_at; /* ns 0: never */
    unsigned queried_groups;
    bool xml_known, xml_fresh; /* -q -x was read once; was read in this refresh */
    bool began;                /* there was a run since the clock started */
    bool more_late;            /* no time was left for -q -x or the processes: their values are pending */
    bool version_asked;
    enum reading_state processes_state; /* of this refresh */
    unsigned runs;
    int64_t last_run_ms;
};

/* tool.c */
void smi_tool_start_clock(struct smi *s);
int smi_tool_query(struct smi *s, unsigned groups, struct smi_report *r, struct error *err);
int smi_tool_apps(struct smi *s, struct smi_report *r, struct error *err);
int smi_tool_xml(struct smi *s, struct smi_report *r, struct error *err);
void smi_tool_version(struct smi *s);

/* nvidia_smi.c */
struct smi_known_card *smi_card_find(struct smi *s, const struct gpu_id *id);
/* "0000:01:00.0,..." of the cards that may be queried; "": all. */
void smi_cards_to_ask(struct smi *s, struct buf *out);
/* Applies a query: new cards, lost cards. */
void smi_cards_update(struct smi *s, struct smi_report *r);

/* ---- explains failures of nvidia-smi: what is wrong and what to do ---- */

/* `status` is the exit status. Returns -ENODEV if this host has no usable GPU, -EACCES, or -EIO; always fills err. */
int smi_explain(struct str output, int status, struct error *err);

/* The column that nvidia-smi complains about; false if it complains about something else. */
bool smi_unknown_column(struct str output, struct str *column);
/* It doesn't know --query-gpu at all. */
bool smi_unknown_option(struct str output);
