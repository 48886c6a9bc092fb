/* SPDX-License-Identifier: Apache-2.0
 * Tools as data: the arguments of a call, where to find its answer, and which part of it to pass on. One table provides the
 * schemas, the checks of arguments, the query and the shape of the answer.
 */
#pragma once

#include <jansson.h>

#include "answer/answer.h"
#include "answer/parameter.h"
#include "mcp/mcp.h"

enum { MCP_ANSWER_USUAL = 4096, MCP_ANSWER_LEAST = 1024, MCP_ANSWER_MOST = 256 * 1024 }; /* bytes of a result */

/* An argument; what is not said here is as the parameter `of` the path has it. */
struct mcp_input {
    enum parameter_id of;
    const char *name;
    enum parameter_kind kind;
    const char *about, *choices;
    int64_t least, most;   /* range of a whole number */
    const char *option;    /* of the command; "": an argument; NULL: used here */
    const char *parameter; /* of the path; NULL: that of `of`, or used here */
    bool number_too;       /* a text that may be given as a number */
    bool alone;            /* excludes others with this flag */
    const char *needs;     /* requires another argument; NULL: none */
};
struct parameter mcp_parameter(const struct mcp_input *input);

/* A query and its answer. Fields are words "name:kind": s text, t text that programs and users can influence, i integer, n
 * number, b boolean, x true or left out, a list, u list of such texts, f findings, o object. */
struct mcp_shape {
    const char *when;                /* the argument that selects it; NULL: any call */
    const char *command;             /* its words */
    const char *path;                /* NULL: not in the API */
    const char *inside;              /* path of keys to the object, "fleet.status"; NULL: the body itself */
    const struct answer *answer;     /* whose table marks the fields that count; NULL: they are in `head` and `fields` */
    const struct answer *also;       /* more fields of the object; NULL: none */
    const char *head;                /* fields of the object */
    const char *rows;                /* key of its list; NULL: see `rows_by` */
    const struct mcp_input *rows_by; /* the argument whose choices name the list, without the plural s */
    const char *list;                /* the list's name in the answer; NULL: as in the body */
    const char *fields;              /* of the list's objects; with `answer`: where fewer count than the table marks */
    const char *only;                /* keep only rows where this field equals the argument `when`; NULL: all rows */
    void (*sum_up)(json_t *object, const json_t *arguments, size_t bytes); /* condenses the list; NULL: unchanged */
    void (*line)(struct buf *out, const json_t *row);                      /* formats a row as text; NULL: its fields with commas */
};

struct mcp_tool {
    const char *name, *title, *about;
    const struct mcp_input *const *inputs; /* besides the common ones; NULL-terminated */
    const struct mcp_shape *shapes;        /* the first that matches is used; the last has no `when` */
};

extern const struct mcp_tool mcp_tools[];
extern const size_t mcp_tool_count;
extern const struct mcp_input *const mcp_inputs_of_all[]; /* NULL-terminated */

const struct mcp_shape *mcp_shape_of(const struct mcp_tool *tool, const json_t *arguments);
/* Reads the next field of a list; false after the last. */
struct mcp_field {
    char name[48];
    char kind;
};
bool mcp_next_field(const char **rest, struct mcp_field *field);
/* The fields of the object and of the list's objects; `words` keeps them if they come from a table. */
const char *mcp_head(const struct mcp_shape *shape, struct buf *words);
const char *mcp_fields(const struct mcp_shape *shape, struct buf *words);

/* The tools as that version describes them; NULL: out of memory. */
json_t *mcp_list_tools(enum mcp_version version);
/* Checks the arguments of a call. -EINVAL and a message. */
int mcp_check_arguments(const struct mcp_tool *tool, const json_t *arguments, struct error *err);
/* An argument as text; NULL: not given. */
const char *mcp_argument(const json_t *arguments, const char *name, char text[32]);

/* The result of a call; NULL: out of memory. */
json_t *mcp_shape_answer(const struct mcp_request *r, const json_t *arguments, json_t *body);
json_t *mcp_result(const char *text, bool failed);

/* Condenses the course of metrics into mean, min, max and some points. */
void mcp_sum_up_history(json_t *object, const json_t *arguments, size_t bytes);
void mcp_line_of_history(struct buf *out, const json_t *row);
