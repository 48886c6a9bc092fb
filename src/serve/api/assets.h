/* SPDX-License-Identifier: Apache-2.0
 * Files embedded in the program (by tools/embed), and serving them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct exchange;
struct json_t;

struct asset {
    const char *path; /* URL path; without a leading '/': only for the program itself */
    const char *type;
    const char *etag;
    const char *at;
    size_t len;       /* as stored */
    size_t plain_len; /* uncompressed */
    bool packed;      /* stored as gzip */
};

extern const struct asset assets[];
extern const size_t asset_count;

enum { ASSET_VERSION_SIZE = 9 };
/* Of all files of the dashboard together: their addresses have it, and change with their content. */
const char *asset_version(void);
/* By its path, or by /web/VERSION/NAME; NULL: there is none, or only in another version. */
const struct asset *asset_find(const char *path);
/* Responds with the asset of the request's path. */
void get_asset(struct exchange *x);
void get_docs(struct exchange *x);
void get_openapi(struct exchange *x);

/* ---- openapi.c: the description of the API, openapi.json with the schemas of answers and metrics filled in ---- */

/* Every answer with a table (answer/answer.h): schemas and types are made of them. */
extern const struct answer *const all_answers[];
extern const size_t all_answer_count;
void openapi_write(struct buf *out); /* the buffer fails if out of memory */
/* The parameter names of each path, as keys: {"/api/why": {"gpu": true, ...}, ...}. */
struct json_t *openapi_parameters(void);
