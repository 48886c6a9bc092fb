/* SPDX-License-Identifier: Apache-2.0
 * The parts of the masker: names and looks of secrets (looks.c), options of programs (programs.c), and the walk over the words of
 * a command line (mask.c).
 */
#pragma once

#include "base/secret/mask.h"

enum { SECRET_NAME_SIZE = 64 };

#define MASK "***"

/* ---- looks.c ---- */

/* "--HF_Token" -> "hf-token", in the caller's buffer, truncated to it. */
struct str secret_normal_name(struct str name, char room[SECRET_NAME_SIZE]);
/* Whether an option or variable of this name, in any spelling, holds a secret (--api-key, PASSWORD), holds one as a URL
 * parameter (?key=), or holds an identifier that looks like one (--revision). */
bool secret_name(struct str name);
bool secret_query_name(struct str name);
bool secret_identifier_name(struct str name);
/* Whether files in a directory of this name are named by their hash. */
bool secret_hash_directory(struct str name);
/* Whether the value of a secret name is really secret: not "true", not the path of a key file. */
bool secret_worth_masking(struct str name, struct str value);
/* Whether a text has a token's prefix, is a JWT, or is long and random. A hash looks random, too: pass whether one is expected. */
bool secret_looks(struct str s, bool may_be_hash);
bool secret_is_random(struct str run, bool may_be_hash);
/* Digits with dots, colons and the like in between: a port, an address, a range. */
bool secret_is_number(struct str s);

/* ---- programs.c ---- */

/* What the next word is expected to be. */
enum expectation {
    EXPECT_NOTHING,
    EXPECT_SECRET,     /* after --password */
    EXPECT_USER,       /* after --user: "name:SECRET" */
    EXPECT_COOKIE,     /* after curl -b: "name=SECRET", or a file */
    EXPECT_VALUES,     /* after heroku config:set: every NAME=SECRET from here on */
    EXPECT_SCHEME,     /* after "Authorization:": "Bearer", then the secret */
    EXPECT_ALL,        /* after "Cookie:": everything up to the end of the argument */
    EXPECT_IDENTIFIER, /* after --revision: a hash is fine */
    EXPECT_EQUAL,      /* after `password` in a script: "= SECRET" or 'SECRET' may follow */
    EXPECT_BY,         /* after IDENTIFIED in SQL: BY 'SECRET' */
};

/* One way in which a program takes a secret. */
struct program_option {
    const char *programs; /* name prefixes separated by '|'; a trailing '$' means the whole name; "": any program */
    const char *word;     /* "-p", "--body", "login"; "": the program's own arguments */
    const char *form;     /* "a": separate ("-p X"), "j": joined ("-pX"), "aj": both, "": this program's option isn't secret */
    enum expectation means;
    const char *behind;   /* a word that must come before: docker login -p; NULL: none */
    unsigned skip, count; /* words to skip first, then the number to mask; 0: one */
};

/* The row for this word, after the words before it; *ret_joined is the joined value. NULL: none. */
const struct program_option *program_option_find(struct str program, struct str word, const struct str *before, size_t count,
                                                 struct str *ret_joined);
/* Characters that separate user and password in this program's arguments. */
const char *program_user_separators(struct str program);
