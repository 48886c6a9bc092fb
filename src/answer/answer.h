/* SPDX-License-Identifier: Apache-2.0
 * The one description of an answer. Everything that is said about its form is made from it:
 *
 *   struct ───┐                      ┌─ answer_write()        JSON
 *             ├─▶ a row per field ──▶├─ answer_read()         and back
 *             │                      ├─ answer_csv()          lines of a download
 *   in words ─┘                      ├─ answer_schema()       OpenAPI
 *                                    ├─ answer_typescript()   types of the dashboard
 *                                    └─ answer_python()       and of the Python package
 *
 * The table is beside the struct, or beside the words that are added to it:
 *
 *   ANSWER_TABLE(lease_gpu_answer, struct lease_gpu, .name = "LeaseGpu")
 *   {
 *       FIELD(INT, "gpu_index", index, "Index of the GPU");
 *       FIELD(READING, "used_bytes", used_bytes, "Held by its programs", WHOLE);
 *       MADE(TEXT, "words", make_words, "What people call it");
 *   }
 *
 * Code, not data: the loader would relocate each pointer of a static table at every start of the program. The rows are made when
 * an answer is first asked for.
 *
 * A field is a member, written and read, or made from the record while it is written. Its value is known, none (null, []) or
 * unknown: null, with the reason under its key in `absent` of the same object.
 */
#pragma once

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_writer.h"
#include "model/reading.h"

enum answer_field_kind {
    ANSWER_INT = 1, /* an integer of any size */
    ANSWER_AMOUNT,  /* an integer in another unit: value * scale */
    ANSWER_NUMBER,  /* a double; NaN and infinity are none */
    ANSWER_BOOL,
    ANSWER_TEXT,    /* an array of char */
    ANSWER_WORD,    /* a pointer to text; read only where `names` has it */
    ANSWER_NAME,    /* an enum or bool, by its name; one that is not known is read as `none`, if that is not 0 */
    ANSWER_BITS,    /* a number whose bits have names: a list of those that are set */
    ANSWER_MOMENT,  /* struct wall; ms 0 is none */
    ANSWER_READING, /* three states; `item` is the form of its value, if it is not a number: BOOL, NAME, BITS or TEXT */
    ANSWER_OPTION,  /* a reading whose absence means that there is none */
    ANSWER_OBJECT,
    ANSWER_KEYS,  /* a struct whose fields are in the same object */
    ANSWER_LIST,  /* of `item`: INT, NUMBER, TEXT, WORD, PIECE or OBJECT */
    ANSWER_PIECE, /* struct str; only written */
    ANSWER_LINES, /* a text, as a list of its lines */
    ANSWER_ANY,   /* struct str: JSON of whatever form, written before; empty: none */
    ANSWER_MAP,   /* texts by names that are not known before: items are struct answer_pair */
};

struct answer;

/* Names of an enum, from 0 on. name() may end them with NULL. */
struct answer_names {
    const char *(*name)(int value);
    int first, count;
};
#define ANSWER_NAMES(id, type, function, first_, last_) \
    static const char *id##_text(int value)             \
    {                                                   \
        return function((type)value);                   \
    }                                                   \
    static const struct answer_names id = {id##_text, (first_), (int)(last_) + 1}

/* The same for several files. */
#define ANSWER_SHARED_NAMES(id, type, function, first_, last_) \
    static const char *id##_text(int value)                    \
    {                                                          \
        return function((type)value);                          \
    }                                                          \
    const struct answer_names id = {id##_text, (first_), (int)(last_) + 1}

/* The next name after `*value`, which begins below `first`; NULL: that was the last. A name that stands for two values comes once.
 */
const char *answer_next_name(const struct answer_names *names, int *value);

/* A value that is made. */
union answer_value {
    int64_t number;
    double real;
    bool yes;
    const char *word;
    struct wall at;
    struct reading reading;
    char text[512];
};

struct answer_pair {
    const char *key, *value;
};

/* What is being written. */
struct answer_at {
    const void *record;
    void *context; /* as it was given to answer_write() */
};

/* Where a list is being written. */
struct answer_step {
    size_t at; /* 0 at first; next() moves it */
    union {
        int64_t number;
        double real;
        struct answer_pair pair;
        struct str text;
        const void *both[2];
    } item; /* room for an element that is not in the record */
};

struct answer_field {
    const char *key, *about; /* about: for people; NULL: the key says it */
    const struct answer_names *names;
    const struct answer *of;                                                   /* of an object or of the objects in a list */
    bool (*when)(const void *record);                                          /* false: there is no value */
    enum reading_state (*state)(const void *record);                           /* anything but READING_OK: unknown, and why */
    bool (*make)(const struct answer_at *at, union answer_value *ret);         /* false: none */
    const void *(*next)(const struct answer_at *at, struct answer_step *step); /* of a list; NULL: it is over */
    void (*write)(const struct answer_at *at, struct json_writer *j);          /* writes the value itself */
    const char *schema;            /* more about the value, as JSON: "{\"minimum\": 0}" */
    double scale;                  /* 0: 1 */
    float none, parts;             /* parts: rounded to so many of a unit; 0: not */
    uint32_t offset, size;         /* of the member */
    uint32_t stride, count_offset; /* of a list inside of the record */
    uint32_t flag_offset;          /* a member of flag_size bytes that is 0 if there is no value */
    uint32_t state_offset;         /* a member with the state, if has_state */
    uint16_t value_offset;         /* of a map: from a key to its value */
    uint8_t flag_size;
    enum answer_field_kind kind : 8;
    enum answer_field_kind item : 8;
    char letter; /* before the number of a reading that is a text: "P2" */
    bool is_signed : 1;
    bool nullable : 1;   /* `none`, an empty text and ms 0 are null */
    bool whole : 1;      /* a number without decimals */
    bool point : 1;      /* "71.0", never "71": readers may derive the type from the text */
    bool natural : 1;    /* never below 0 */
    bool by_pointer : 1; /* the member points to it, or to the first of it: only written. NULL: none */
    bool by_text : 1;    /* see WRITTEN */
    bool counts : 1;     /* is told to assistants even in a short answer */
    bool open : 1;       /* names that other versions have more of: described as a text */
    bool foreign : 1;    /* a text that programs and users can influence */
    bool optional : 1;   /* without a value the key is left out */
    bool has_state : 1;
    bool gaps : 1;  /* elements of a list, or an optional value that is there, may be none */
    bool stays : 1; /* a list that is never null: where it is unknown, the reason is beside it */
};

/* Whether its reason may be in `absent`. */
static inline bool answer_may_be_unknown(const struct answer_field *f)
{
    return f->kind == ANSWER_READING || f->state || f->has_state;
}

static inline bool answer_may_be_null(const struct answer_field *f)
{
    return (f->nullable && (!f->optional || f->gaps)) || (answer_may_be_unknown(f) && !f->stays) || f->kind == ANSWER_OPTION;
}

struct answer_rows {
    const struct answer_field *_Atomic list; /* NULL: not made yet */
    void (*make)(void);                      /* by one thread at a time */
};

struct answer {
    const char *name; /* of the schema and of the type; NULL: only a part of others */
    const char *about;
    size_t size;
    struct answer_rows *rows;
};

#define ANSWER(type, make_rows, ...)                                                          \
    {                                                                                         \
        .size = sizeof(type), .rows = &(struct answer_rows){.make = (make_rows)}, __VA_ARGS__ \
    }

/* A table, as above; SHARED: for other files, too. */
#define ANSWER_TABLE(id, ...) ANSWER_TABLE_OF(static, id, ANSWER_FIRST(__VA_ARGS__, ), ANSWER_REST(__VA_ARGS__, ))
#define SHARED_ANSWER_TABLE(id, ...) ANSWER_TABLE_OF(, id, ANSWER_FIRST(__VA_ARGS__, ), ANSWER_REST(__VA_ARGS__, ))
#define ANSWER_FIRST(first, ...) first
#define ANSWER_REST(first, ...) __VA_ARGS__
#define ANSWER_TABLE_OF(storage, id, type, ...)                            \
    static void id##_rows(type *of);                                       \
    static void id##_make(void)                                            \
    {                                                                      \
        id##_rows(NULL); /* `of` is for the types of members */            \
    }                                                                      \
    storage const struct answer id = ANSWER(type, id##_make, __VA_ARGS__); \
    static void id##_rows(type *of __attribute__((unused)))

/* All rows, up to one of kind 0. */
const struct answer_field *answer_fields(const struct answer *a);
/* The one with that key; NULL: none. */
const struct answer_field *answer_field(const struct answer *a, const char *key);

/* Adds a row while a table is made. */
void answer_add(const struct answer_field *row);

/* What makes a value (`member` of union answer_value) from the record, and what tells whether there is one: `of` points to it. */
#define ANSWER_MAKER(id, type, member, value)                           \
    static bool id(const struct answer_at *at, union answer_value *ret) \
    {                                                                   \
        const type *of = at->record;                                    \
        ret->member = (value);                                          \
        return true;                                                    \
    }                                                                   \
    static bool id(const struct answer_at *at, union answer_value *ret)
#define ANSWER_TEST(id, type, test)    \
    static bool id(const void *record) \
    {                                  \
        const type *of = record;       \
        return (test);                 \
    }                                  \
    static bool id(const void *record)

/* Hides that a text is constant, or the compiler would copy the rows from a static table after all. */
static inline const char *answer_key(const char *key)
{
    __asm__("" : "+r"(key));
    return key;
}

/* Rows. What follows the words for people is optional, like OR_NULL. */
/* clang-format off */
#define ROW(kind_, key_, ...) answer_add(&(struct answer_field){.kind = ANSWER_##kind_, .key = answer_key(key_), __VA_ARGS__})
#define ANSWER_SIGNED(member) _Generic(of->member, short: true, int: true, long: true, long long: true, default: false)
/* clang-format on */
#define ANSWER_AT(member) offsetof(__typeof__(*of), member)
#define FIELD(kind_, key_, member, ...)                                                                          \
    ROW(kind_, key_, .offset = ANSWER_AT(member), .size = sizeof of->member, .is_signed = ANSWER_SIGNED(member), \
        .about = __VA_ARGS__)
#define MADE(kind_, key_, function, ...) \
    ROW(kind_, key_, .size = sizeof(int64_t), .is_signed = true, .make = (function), .about = __VA_ARGS__)
/* A value that a function writes. */
#define WRITER(kind_, key_, function, ...) ROW(kind_, key_, .write = (function), .about = __VA_ARGS__)
/* An object of members of the same struct. */
#define PART(key_, answer, ...) ROW(OBJECT, key_, .of = &(answer), .about = __VA_ARGS__)
/* An object (OBJECT), or fields of this one (KEYS), that a member points to. */
#define VIA(kind_, key_, pointer, answer, ...) \
    ROW(kind_, key_, .by_pointer = true, .offset = ANSWER_AT(pointer), .of = &(answer), .about = __VA_ARGS__)
/* All fields of another table of the same struct. */
#define KEYS(answer) ROW(KEYS, NULL, .of = &(answer))
/* Lists: an array in the record, or a pointer to one, and the member with its count. */
#define ANSWER_ARRAY(array, count_)                                                                                         \
    .offset = ANSWER_AT(array), .stride = sizeof of->array[0], .count_offset = ANSWER_AT(count_), .size = sizeof of->array, \
    .by_pointer = __builtin_types_compatible_p(__typeof__(of->array), __typeof__(&of->array[0]))
#define OBJECTS(key_, array, count_, answer, ...) \
    ROW(LIST, key_, .item = ANSWER_OBJECT, .of = &(answer), ANSWER_ARRAY(array, count_), .about = __VA_ARGS__)
/* item_: TEXT for arrays of char, WORD for pointers */
#define TEXTS(item_, key_, array, count_, ...) \
    ROW(LIST, key_, .item = ANSWER_##item_, ANSWER_ARRAY(array, count_), .about = __VA_ARGS__)
#define PAIRS(item_, key_, array, count_, ...)                                                                                     \
    ROW(MAP, key_, .item = ANSWER_##item_, ANSWER_ARRAY(array, count_), .value_offset = offsetof(__typeof__(of->array[0]), value), \
        .about = __VA_ARGS__)
#define EACH(item_, key_, function, ...) ROW(LIST, key_, .item = ANSWER_##item_, .next = (function), .about = __VA_ARGS__)
#define MAP(key_, function, ...)                                                                                 \
    ROW(MAP, key_, .item = ANSWER_WORD, .value_offset = offsetof(struct answer_pair, value), .next = (function), \
        .about = __VA_ARGS__)

/* A list whose elements were written as JSON before, with commas: `member` is a struct str. */
#define WRITTEN(key_, member, answer, ...) \
    ROW(LIST, key_, .item = ANSWER_OBJECT, .of = &(answer), .by_text = true, .offset = ANSWER_AT(member), .about = __VA_ARGS__)
/* An object that was written before: `member` is a struct str. */
#define WRITTEN_OBJECT(key_, member, answer, ...) \
    ROW(OBJECT, key_, .of = &(answer), .by_text = true, .offset = ANSWER_AT(member), .about = __VA_ARGS__)

#define OR_NULL .nullable = true
#define NONE(value) .nullable = true, .none = (value)
#define WHOLE .whole = true
#define POINT .point = true
#define NATURAL .natural = true
#define COUNTS .counts = true
#define FOREIGN .foreign = true
#define OPEN .open = true
#define SCALE(factor) .scale = (factor)
#define TENTHS .parts = 10
#define STAYS .stays = true
#define GAPS .gaps = true
/* Without a value the key is left out; follows WHEN, PRESENT or a function that makes it. */
#define MAYBE .optional = true
/* A member of type enum reading_state tells why there is no value. */
#define STATE(member) .has_state = true, .state_offset = ANSWER_AT(member)
#define NAMES(of_enum) .names = &(of_enum)
#define FIELDS(answer) .of = &(answer)
#define WHEN(predicate) .nullable = true, .when = (predicate)
/* A member tells whether there is a value. */
#define PRESENT(member) .nullable = true, .flag_offset = ANSWER_AT(member), .flag_size = sizeof of->member

/* An object with all fields. The context is passed on to what makes values. */
void answer_write(struct json_writer *j, const struct answer *a, const void *record, void *context);
/* Only its fields, for an object with others. */
void answer_write_keys(struct json_writer *j, const struct answer *a, const void *record, void *context);

/* A line of CSV; record NULL: the titles. */
void answer_csv(struct buf *out, const struct answer *a, const void *record, void *context);

/* Reads the members of an object that answer_write() wrote, here or in another version. Without a value a member becomes none,
 * or stays as it is where none is not possible. false: something in it can't be, and `wrong` (may be NULL) is the first such key;
 * everything else is read. */
bool answer_read(const struct answer *a, const json_t *json, void *record, const char **wrong);

/* JSON Schema of the object; named parts are references. NULL: out of memory. */
json_t *answer_schema(const struct answer *a);
/* Calls with each named answer among these and their parts, once, parts first. */
void answer_each_named(const struct answer *const *list, size_t count, void (*call)(const struct answer *a, void *user),
                       void *user);

/* The files of types for the dashboard and for the Python package. */
void answer_typescript(struct buf *out, const struct answer *const *list, size_t count);
void answer_python(struct buf *out, const struct answer *const *list, size_t count);
