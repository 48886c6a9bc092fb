/* SPDX-License-Identifier: Apache-2.0
 * What can be done about a finding, as plain data: the rows of remedies.def, and what is known about doing one of them here.
 */
#pragma once

#include "model/finding.h"

enum remedy_code {
#define REMEDY(name, ...) REMEDY_##name,
#define REMEDY_FOR(...)
#include "model/remedies.def"
#undef REMEDY
#undef REMEDY_FOR
    REMEDY_COUNT
};

enum remedy_kind { REMEDY_SETTING, REMEDY_ENV, REMEDY_SERVER_API, REMEDY_HINT, REMEDY_PHYSICAL, REMEDY_KINDS };
enum remedy_who { REMEDY_CONTROL, REMEDY_OWNER, REMEDY_ADMIN, REMEDY_ANYONE, REMEDY_WHOS };
enum remedy_undo { REMEDY_NO, REMEDY_YES, REMEDY_BY_HAND };

struct remedy_row {
    const char *code; /* "quiet" */
    enum remedy_kind kind;
    enum remedy_who who;
    enum remedy_undo undo;
    const char *text; /* NULL: made where it is advised */
};

const struct remedy_row *remedy_row(enum remedy_code code);
bool remedy_from_name(const char *name, enum remedy_code *ret);
const char *remedy_kind_name(enum remedy_kind kind); /* "setting" */
const char *remedy_who_name(enum remedy_who who);    /* "control" */
/* The default remedy of a finding without advice of its own; false: none. */
bool remedy_for(finding_code root, enum remedy_code *ret);
/* The remedy with this text; REMEDY_FAULT: none. */
enum remedy_code remedy_with_text(const char *text);

/* Readings that a remedy moves: a moment, or a change. */
struct remedy_values {
    struct reading fan_permille, power_mw, temp_mdegc, clock_khz, tokens_milli;
};

enum expected_source { EXPECTED_NOT_KNOWN, EXPECTED_OWN_HISTORY, EXPECTED_SIBLINGS, EXPECTED_SOURCES };
const char *expected_source_name(enum expected_source source); /* "own_history"; NULL: unknown */

enum { REMEDY_TEXT_SIZE = 256, REMEDY_COMMAND_SIZE = 160, REMEDY_AFFECTS_MAX = 4, REMEDY_NAME_SIZE = 96 };

/* One that is advised. */
struct remedy {
    int number;                  /* from 1 on; 0: of a daemon that knows none */
    char text[REMEDY_TEXT_SIZE]; /* a sentence */
    enum remedy_code code;
    finding_code root;
    char command[REMEDY_COMMAND_SIZE]; /* to paste; "": none */
    size_t affects_count;              /* programs on the GPU */
    char affects[REMEDY_AFFECTS_MAX][REMEDY_NAME_SIZE];
    enum expected_source source;
    struct remedy_values expected; /* changes */
    struct wall seen;              /* when such a step was measured */
};

/* The command in a sentence of advice: in backquotes, or after a colon. Empty: there is none. */
struct str remedy_command(const char *sentence);
