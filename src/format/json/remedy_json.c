/* SPDX-License-Identifier: Apache-2.0
 * Remedies of an explanation, both ways.
 */
#include "format/json/json.h"
#include "format/json/told.h"
#include "model/finding_code.h"
#include "model/remedy.h"

static const char *code_of(enum remedy_code code)
{
    return remedy_row(code)->code;
}
ANSWER_NAMES(remedy_codes, enum remedy_code, code_of, 0, REMEDY_COUNT - 1);
ANSWER_NAMES(expected_sources, enum expected_source, expected_source_name, EXPECTED_OWN_HISTORY, EXPECTED_SOURCES - 1);

ANSWER_MAKER(make_kind, struct remedy, word, remedy_kind_name(remedy_row(of->code)->kind));

ANSWER_MAKER(make_who, struct remedy, word, remedy_who_name(remedy_row(of->code)->who));

static bool make_cost(const struct answer_at *at, union answer_value *ret)
{
    enum remedy_code code = ((const struct remedy *)at->record)->code;
    ret->word = code == REMEDY_QUIET ? "a little slower" : code == REMEDY_STOCK_LIMIT ? "louder" : NULL;
    return ret->word != NULL;
}

static bool make_undo(const struct answer_at *at, union answer_value *ret)
{
    enum remedy_undo undo = remedy_row(((const struct remedy *)at->record)->code)->undo;
    ret->word = undo == REMEDY_YES ? "whirr undo" : undo == REMEDY_BY_HAND ? "by hand" : NULL;
    return ret->word != NULL;
}

ANSWER_TABLE(expected_answer, struct remedy, .name = "RemedyExpected")
{
    FIELD(OPTION, "fan_percent", expected.fan_permille, "By how much it changes", SCALE(0.1));
    FIELD(OPTION, "power_watts", expected.power_mw, NULL, SCALE(1e-3));
    FIELD(OPTION, "temperature_celsius", expected.temp_mdegc, NULL, SCALE(1e-3));
    FIELD(OPTION, "clock_graphics_mhz", expected.clock_khz, NULL, SCALE(1e-3));
    FIELD(OPTION, "tokens_per_second", expected.tokens_milli, NULL, SCALE(1e-3));
    FIELD(NAME, "source", source, "own_history: a step of this GPU; siblings: of another GPU of its model",
          NAMES(expected_sources));
    FIELD(MOMENT, "seen_at", seen, "When that step was measured", OR_NULL);
}

SHARED_ANSWER_TABLE(remedy_answer, struct remedy, .name = "Remedy")
{
    FIELD(INT, "number", number, "For `whirr do`");
    FIELD(NAME, "code", code, NULL, NAMES(remedy_codes), OPEN, .none = REMEDY_FAULT);
    FIELD(NAME, "root", root, "Code of the finding that it is about", NAMES(finding_codes), OPEN, .none = FINDING_CANNOT_KNOW);
    MADE(WORD, "kind", make_kind, "setting, env, server_api, hint or physical; `whirr do` makes settings");
    FIELD(TEXT, "text", text, "A sentence", FOREIGN);
    FIELD(TEXT, "command", command, "To paste", OR_NULL);
    MADE(WORD, "who", make_who, "Who may: control (root, or through whirr-control), owner of the program, administrator, anyone");
    TEXTS(TEXT, "affects", affects, affects_count, "Programs on the GPU that notice it", FOREIGN);
    PART("expected", expected_answer, "From measured steps; null: not known", PRESENT(source));
    MADE(WORD, "cost", make_cost, NULL, OR_NULL);
    MADE(WORD, "undo", make_undo, "How it is taken back", OR_NULL);
}
