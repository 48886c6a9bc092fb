/* SPDX-License-Identifier: Apache-2.0
 * Tools as data: what a call may say, where its answer is, and what of it is passed on. From one table come the schemas, the checks
 * of arguments, the question and the shape of the answer.
 */
#pragma once

#include <jansson.h>

#include "mcp/mcp.h"

enum { MCP_ANSWER_USUAL = 4096, MCP_ANSWER_LEAST = 1024, MCP_ANSWER_MOST = 256 * 1024 }; /* bytes of a result */

enum mcp_kind { INPUT_TEXT, INPUT_WHOLE, INPUT_YES, INPUT_GPU };

struct mcp_input {
    const char *name;
    enum mcp_kind kind;
    const char *about;
    const char *const *choices; /* the only texts that are allowed, NULL at the end; NULL: any */
    int64_t least, most;        /* of a whole number */
    const char *option;         /* of the command; "": an argument; NULL: it is used here */
    const char *parameter;      /* of the path; NULL: used here */
    bool alone;                 /* at most one of those that are */
    const char *needs;          /* another one; NULL: none */
};

/* A question and its answer. Fields are words "name:kind": s text, t text in which programs and users have a say, i whole number,
 * n number, b yes or no, x yes or left out, a list, u list with such texts, f findings, o object. */
struct mcp_shape {
    const char *when;    /* the argument that asks for it; NULL: any call */
    const char *command; /* words of it */
    const char *path;    /* NULL: not in the API */
    const char *inside;  /* the keys that lead to the object that is meant, "fleet.status"; NULL: the body itself */
    const char *head;    /* fields of the object */
    const char *rows;    /* its list; NULL: named by `rows_by` */
    const char *rows_by; /* the argument that names it, without the s of its plural */
    const char *list;    /* what the list is called in the answer; NULL: as in the body */
    const char *fields;  /* of the list's objects */
    const char *only;    /* the field that must be what the argument `when` says; NULL: all rows */
    void (*sum_up)(json_t *object, const json_t *arguments, size_t bytes); /* makes the list shorter; NULL: it is as it is */
    void (*line)(struct buf *out, const json_t *row);                      /* a row as text; NULL: its fields, with commas */
};

struct mcp_tool {
    const char *name, *title, *about;
    const struct mcp_input *const *inputs; /* besides those that all have; NULL at the end */
    const struct mcp_shape *shapes;        /* the first that is asked for; the last has no `when` */
};

extern const struct mcp_tool mcp_tools[];
extern const size_t mcp_tool_count;
extern const struct mcp_input *const mcp_inputs_of_all[]; /* NULL at the end */

const struct mcp_shape *mcp_shape_of(const struct mcp_tool *tool, const json_t *arguments);
/* A field of a list of them; false behind the last. */
struct mcp_field {
    char name[48];
    char kind;
};
bool mcp_next_field(const char **rest, struct mcp_field *field);

/* The tools as that version describes them; NULL: out of memory. */
json_t *mcp_list_tools(enum mcp_version version);
/* -EINVAL and a sentence: what is wrong with the arguments of a call. */
int mcp_check_arguments(const struct mcp_tool *tool, const json_t *arguments, struct error *err);
/* An argument that was given, as text; NULL: it was not. */
const char *mcp_argument(const json_t *arguments, const char *name, char text[32]);

/* The result of a call; NULL: out of memory. */
json_t *mcp_shape_answer(const struct mcp_request *r, const json_t *arguments, json_t *body);
json_t *mcp_result(const char *text, bool failed);

/* The course of metrics as mean, least and most, and some points of it. */
void mcp_sum_up_history(json_t *object, const json_t *arguments, size_t bytes);
void mcp_line_of_history(struct buf *out, const json_t *row);
