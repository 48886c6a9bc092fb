/* SPDX-License-Identifier: Apache-2.0
 * The parts of the masker: what secrets are called and look like (looks.c), how programs take them (programs.c), URLs (url.c), and
 * the walk over the words of a command line (mask.c).
 */
#pragma once

#include "base/secret/mask.h"

enum { SECRET_NAME_SIZE = 64 };

#define MASK "***"

/* ---- looks.c ---- */

/* "--HF_Token" -> "hf-token", in the caller's room; cut there. */
struct str secret_normal_name(struct str name, char room[SECRET_NAME_SIZE]);
/* Whether an option or variable of this name holds a secret (--api-key, PASSWORD), also as the parameter of a URL (?key=), or an
 * identifier that looks like one (--revision). Given in any spelling. */
bool secret_name(struct str name);
bool secret_query_name(struct str name);
bool secret_identifier_name(struct str name);
/* Whether files in a directory of this name are called by their hash. */
bool secret_hash_directory(struct str name);
/* Whether the value of a secret name hides something: not "true", not the path of a key file. */
bool secret_worth_masking(struct str name, struct str value);
/* Whether a text is a token by its beginning, a JWT, or long and random. A hash is random too: say where one may stand. */
bool secret_looks(struct str s, bool may_be_hash);
bool secret_is_random(struct str run, bool may_be_hash);
/* Digits with dots, colons and the like between: a port, an address, a range. */
bool secret_is_number(struct str s);

/* ---- programs.c ---- */

/* What is expected of the next word. */
enum expectation {
    EXPECT_NOTHING,
    EXPECT_SECRET,     /* behind --password */
    EXPECT_USER,       /* behind --user: "name:SECRET" */
    EXPECT_COOKIE,     /* behind curl -b: "name=SECRET", or a file */
    EXPECT_VALUES,     /* behind heroku config:set: every NAME=SECRET from here on */
    EXPECT_SCHEME,     /* behind "Authorization:": "Bearer" and then the secret */
    EXPECT_ALL,        /* behind "Cookie:": everything up to the end of the argument */
    EXPECT_IDENTIFIER, /* behind --revision: a hash is fine */
    EXPECT_EQUAL,      /* behind `password` in a script: "= SECRET" may follow, or 'SECRET' */
    EXPECT_BY,         /* behind IDENTIFIED in SQL: BY 'SECRET' */
};

/* One way in which a program takes a secret. */
struct program_option {
    const char *programs; /* beginnings of their names, with '|' between; with a '$' behind it the whole name; "" any program */
    const char *word;     /* "-p", "--body", "login"; "" the program itself: its arguments are meant */
    const char *form;     /* "a": apart ("-p X"), "j": joined ("-pX"), "aj" both, "" the option of this program hides nothing */
    enum expectation means;
    const char *behind;   /* a word that must have come before: docker login -p; NULL: none */
    unsigned skip, count; /* words left alone first, and how many are hidden then; 0: one */
};

/* The row for this word, behind the others; *ret_joined is what is joined to it. NULL: there is none. */
const struct program_option *program_option_find(struct str program, struct str word, const struct str *before, size_t count,
                                                 struct str *ret_joined);
/* Characters between a user's name and the password in this program's arguments. */
const char *program_user_separators(struct str program);

/* ---- parts.c ---- */

struct masker {
    struct buf *out;
    enum expectation expect;
    unsigned skip, left;         /* words before and of what is expected; left 0: one, the value of an option */
    char name[SECRET_NAME_SIZE]; /* of the option that raised the expectation */
    struct str program;          /* without its directory */
    struct str words[8];         /* behind the program, without its options: subcommands */
    size_t word_count;
    char open_quote;   /* a secret began behind it and goes on until it comes again; 0: none */
    bool may_be_hash;  /* a text in which hashes are no secrets */
    bool one_line;     /* blanks of every kind become spaces */
    bool piped_secret; /* a script in which `echo SECRET |` feeds a password prompt */
};

void mask_expect(struct masker *m, enum expectation what, struct str name);
/* The text with what looks like a secret replaced, piece by piece: quotes, commas and the like stay. */
void mask_by_looks(struct masker *m, struct str s, bool may_be_hash);
/* A value behind a secret name; quotes and brackets around it stay. */
void mask_secret(struct masker *m, struct str name, struct str value);
/* Inside a quoted secret: nothing is shown up to its closing quote. What follows that one is left in `s`. */
void mask_skip_quoted(struct masker *m, struct str *s);
/* "name:SECRET" of curl -u; numbers are those of docker --user 1000:1000. */
void mask_user(struct masker *m, struct str word);
bool mask_is_user_option(struct str word);
/* Of an Authorization header: what kind of secret follows. */
bool mask_is_scheme(struct str word);
/* The name in front of the first '=' or ':', without what scripts put around names: {"password":, environ['TOKEN']=. */
struct str mask_name_of(struct str s, size_t *ret_cut);
/* A word, part by part between ? & ; and commas. */
void mask_parts(struct masker *m, struct str word);

/* ---- url.c ---- */

/* A word with a URL in it; false when there is none. */
bool mask_url(struct masker *m, struct str word);
