/* SPDX-License-Identifier: Apache-2.0
 * Finds secrets in command lines by name (--api-key X, PASSWORD=X), by position (user:X@host) and by looks (hf_..., JWTs, long
 * random texts). Masks when in doubt; paths, UUIDs and model names are never in doubt.
 */
#include "base/secret/mask.h"

#include <ctype.h>

#include "base/cleanup.h"
#include "base/secret/internal.h"

enum { COMMAND_MAX = 64 * 1024 };

/* For unknown programs, -pX and -p X are secret only if X is not a number, a path or several words. */
static bool may_be_password(struct str value, bool attached)
{
    if (value.len == 0 || secret_is_number(value) || memchr(value.at, '/', value.len) || value.at[0] == '-' ||
        memchr(value.at, ' ', value.len))
        return false;
    if (!attached)
        return true;
    for (size_t i = 0; i < value.len; i++) /* -parallel and -print are options */
        if (!isalpha((unsigned char)value.at[i]))
            return true;
    return false;
}

static void write_meant(struct masker *m, enum expectation means, struct str value)
{
    if (means == EXPECT_USER)
        mask_user(m, value);
    else if (means == EXPECT_COOKIE && !memchr(value.at, '=', value.len)) /* a file name */
        mask_parts(m, value);
    else
        mask_secret(m, STR("password"), value);
}

static void expect_behind(struct masker *m, const struct program_option *o)
{
    mask_expect(m, o->means, STR("password"));
    m->skip = o->skip;
    m->left = o->count;
}

/* `in_script`: the word is part of a command line inside one argument, where only options of known programs count. */
static bool write_program_option(struct masker *m, struct str word, struct str next, bool in_script)
{
    struct str value;
    const struct program_option *o = program_option_find(m->program, word, m->words, m->word_count, &value);
    if (!o || (in_script && !o->programs[0]))
        return false;
    bool known = o->programs[0];
    if (value.len == 0) {
        bool script = str_is(word, "-c") && memchr(next.at ? next.at : "", ' ', next.len); /* a shell's or interpreter's */
        if (strchr(o->form, 'a') && (known || (o->means == EXPECT_USER && !script) || may_be_password(next, false)))
            expect_behind(m, o);
        buf_str(m->out, word);
        return true;
    }
    if (!o->form[0] || !(known || (may_be_password(value, true) && !memchr(value.at, '=', value.len))))
        return false;
    buf_add(m->out, word.at, word.len - value.len);
    write_meant(m, o->means, value);
    return true;
}

/* Options without "=": the next word is their value. */
static bool write_long_option(struct masker *m, struct str word)
{
    if (word.len < 3 || word.at[0] != '-' || memchr(word.at, '=', word.len))
        return false;
    if (mask_is_user_option(word))
        mask_expect(m, EXPECT_USER, word);
    else if (secret_name(word))
        mask_expect(m, EXPECT_SECRET, word);
    else if (secret_identifier_name(word))
        mask_expect(m, EXPECT_IDENTIFIER, word);
    else
        return false;
    buf_str(m->out, word);
    return true;
}

/* A positional secret: skip the words before it; several may follow. */
static bool write_positional(struct masker *m, struct str word)
{
    if (word.at[0] == '-' && word.len > 1)
        return false;
    if (m->skip) {
        m->skip--;
        return false;
    }
    enum expectation what = m->expect;
    if (--m->left == 0)
        m->expect = EXPECT_NOTHING;
    write_meant(m, what, word);
    return true;
}

/* NAME=SECRET, whatever the name. */
static bool write_assignment(struct masker *m, struct str word)
{
    const char *equal = memchr(word.at, '=', word.len);
    if (!equal || word.at[0] == '-')
        return false;
    size_t front = (size_t)(equal + 1 - word.at);
    buf_add(m->out, word.at, front);
    mask_secret(m, STR("password"), (struct str){word.at + front, word.len - front});
    return true;
}

/* The link between a name and its secret in a script: password = SECRET, PASSWORD 'SECRET', IDENTIFIED BY 'SECRET'. */
static bool write_linked(struct masker *m, enum expectation what, struct str word)
{
    bool link = what == EXPECT_BY ? str_is_any_case(word, "by") : str_is(word, "=") || str_is(word, ":") || str_is(word, ":=");
    if (link) {
        buf_str(m->out, word);
        m->expect = EXPECT_SECRET;
        return true;
    }
    if (what == EXPECT_EQUAL && word.len > 1 && strchr("'\"", word.at[0])) {
        mask_secret(m, str_from(m->name), word);
        return true;
    }
    return false;
}

/* Returns whether the word matched the expectation. */
static bool write_expected(struct masker *m, struct str word)
{
    enum expectation what = m->expect;
    if (what == EXPECT_NOTHING)
        return false;
    if (what == EXPECT_ALL) {
        buf_text(m->out, MASK);
        return true;
    }
    if (what == EXPECT_VALUES)
        return write_assignment(m, word);
    if (m->left)
        return write_positional(m, word);
    m->expect = EXPECT_NOTHING;
    if (what == EXPECT_EQUAL || what == EXPECT_BY)
        return write_linked(m, what, word);
    if (str_starts(word, "--") && what != EXPECT_SCHEME)
        return false; /* the option has no value */
    switch (what) {
    case EXPECT_SECRET: mask_secret(m, str_from(m->name), word); return true;
    case EXPECT_USER:
    case EXPECT_COOKIE: write_meant(m, what, word); return true;
    case EXPECT_IDENTIFIER: mask_by_looks(m, word, true); return true;
    case EXPECT_SCHEME: {
        if (mask_is_scheme(word)) {
            buf_str(m->out, word);
            m->expect = EXPECT_ALL;
        } else {
            buf_text(m->out, MASK);
        }
        return true;
    }
    default: return false;
    }
}

static struct str base_name(struct str path)
{
    const char *slash = path.len ? memrchr(path.at, '/', path.len) : NULL;
    size_t directory = slash ? (size_t)(slash + 1 - path.at) : 0;
    return (struct str){path.at + directory, path.len - directory};
}

static void begin_program(struct masker *m, struct str word)
{
    struct str nothing;
    m->program = base_name(word);
    m->word_count = 0;
    const struct program_option *o = program_option_find(m->program, STR(""), NULL, 0, &nothing);
    if (o)
        expect_behind(m, o);
    else if (m->left || m->expect == EXPECT_VALUES) /* left over from the program before */
        mask_expect(m, EXPECT_NOTHING, STR(""));
}

/* sudo, env and the like: the real program follows. */
static bool is_in_front(struct str word)
{
    static const char *const in_front[] = {"sudo", "exec", "env",     "nohup",  "time",   "nice",   "then",    "do",
                                           "else", "doas", "runuser", "setsid", "stdbuf", "ionice", "timeout", "!"};
    return NAME_IN(in_front, base_name(word));
}

/* sh -c "mysql -pSECRET": a script runs programs of its own. True: this word is one. */
static bool note_program(struct masker *m, bool *at_command, struct str word)
{
    static const char *const between[] = {"&&", "||", "|", "&", ";"};
    if (NAME_IN(between, word)) {
        *at_command = true;
        return false;
    }
    bool shell = str_ends(m->program, "sh") || str_is(m->program, "su"); /* sh -c "mysql -pSECRET" inside another script */
    if ((shell && str_is(word, "-c")) || str_is(word, "--"))
        *at_command = true;
    bool skipped = memchr(word.at, '=', word.len) || word.at[0] == '-' || is_in_front(word) || secret_is_number(word);
    bool begins = *at_command && !skipped && m->expect == EXPECT_NOTHING;
    if (begins) {
        struct str name = word;
        while (name.len && strchr("\"'(`$", name.at[0]))
            name = (struct str){name.at + 1, name.len - 1};
        begin_program(m, name);
        *at_command = false;
    }
    if (word.len && word.at[word.len - 1] == ';')
        *at_command = true;
    return begins;
}

/* In a script, a word may announce the secret: Bearer SECRET, IDENTIFIED BY 'SECRET', password = SECRET. */
static void note_announcement(struct masker *m, struct str word)
{
    size_t cut;
    struct str name = mask_name_of(word, &cut);
    if (m->expect != EXPECT_NOTHING)
        return;
    if (str_is_any_case(word, "bearer"))
        m->expect = EXPECT_SECRET;
    else if (str_is_any_case(word, "identified"))
        m->expect = EXPECT_BY;
    else if (cut == word.len && word.at[0] != '-' && secret_name(name))
        mask_expect(m, EXPECT_EQUAL, name);
}

static void write_word(struct masker *m, struct str word, struct str next, bool in_script)
{
    if (m->open_quote) {
        mask_skip_quoted(m, &word);
        if (m->open_quote || word.len == 0)
            return;
    } else if (write_expected(m, word) || write_program_option(m, word, next, in_script) || write_long_option(m, word)) {
        return;
    }
    mask_parts(m, word);
    if (in_script)
        note_announcement(m, word);
}

static void remember_word(struct masker *m, struct str word)
{
    if (word.at[0] != '-' && m->word_count < ARRAY_LEN(m->words))
        m->words[m->word_count++] = word;
}

/* echo SECRET | sudo -S: a script's program that reads a secret from stdin. */
static bool reads_secret(struct str script)
{
    static const char *const readers[] = {"sudo -S",      "-stdin",     "--stdin",       "chpasswd",      "kinit",
                                          "--with-token", "cryptsetup", "passphrase-fd", "vault login -", "pass insert"};
    for (size_t i = 0; i < ARRAY_LEN(readers); i++)
        if (str_contains(script, readers[i]))
            return true;
    return false;
}

static bool is_piped_secret(const struct masker *m, struct str word, bool is_program)
{
    bool printer = str_is(m->program, "echo") || str_is(m->program, "printf");
    return m->piped_secret && printer && !is_program && word.at[0] != '-' && !strchr("|;&", word.at[0]);
}

static void write_script_word(struct masker *m, struct str word, struct str next, bool *at_command)
{
    bool is_program = note_program(m, at_command, word);
    if (is_piped_secret(m, word, is_program)) {
        buf_text(m->out, MASK);
    } else if (is_program && !m->open_quote) {
        mask_parts(m, word);
        note_announcement(m, word);
    } else {
        write_word(m, word, next, true);
        remember_word(m, word);
    }
    if (m->piped_secret && str_is(word, "<<<"))
        mask_expect(m, EXPECT_SECRET, STR("password"));
}

static bool has_space(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (isspace((unsigned char)s.at[i]))
            return true;
    return false;
}

/* An argument with spaces: a script, a document, a sentence. */
static void write_script(struct masker *m, struct str arg, struct str next)
{
    struct str program = m->program;
    bool at_command = true;
    m->piped_secret = reads_secret(arg);
    while (arg.len) {
        size_t len = 0;
        while (len < arg.len && !isspace((unsigned char)arg.at[len]))
            len++;
        if (len)
            write_script_word(m, (struct str){arg.at, len}, next, &at_command);
        if (len < arg.len && !m->open_quote)
            buf_char(m->out, m->one_line ? ' ' : arg.at[len]);
        at_command |= len < arg.len && arg.at[len] == '\n';
        len = MIN_OF(len + 1, arg.len);
        arg = (struct str){arg.at + len, arg.len - len};
    }
    m->program = program;
    m->piped_secret = false;
}

static void write_argument(struct masker *m, struct str arg, struct str next)
{
    bool script = has_space(arg);
    bool passphrase = m->expect == EXPECT_SECRET && !m->skip && script && arg.at[0] != '-'; /* an argument with spaces */
    if (passphrase || str_contains(arg, "-----BEGIN")) {
        if (!m->left || --m->left == 0)
            m->expect = EXPECT_NOTHING;
        buf_text(m->out, MASK);
        return;
    }
    if (script) {
        write_script(m, arg, next);
    } else if (arg.len) {
        write_word(m, arg, next, false);
        remember_word(m, arg);
    }
    m->open_quote = '\0';
    if (m->expect == EXPECT_ALL || m->expect == EXPECT_EQUAL || m->expect == EXPECT_BY)
        m->expect = EXPECT_NOTHING;
}

static void write_arguments(struct masker *m, const struct str *args, size_t count, char separator)
{
    bool at_program = true;
    for (size_t i = 0; i < count; i++) {
        struct str next = i + 1 < count ? args[i + 1] : STR("");
        if (i && separator)
            buf_char(m->out, separator);
        /* sudo -u bob mysql -pX, env A=B mysql -pX: the program is not the first word. */
        bool here = at_program && args[i].len && args[i].at[0] != '-' && !memchr(args[i].at, '=', args[i].len) &&
                    !has_space(args[i]) && m->expect == EXPECT_NOTHING && !secret_is_number(args[i]);
        at_program |= i && str_is(args[i], "--"); /* kubectl exec pod -- mysql -pX */
        if (here) {
            at_program = is_in_front(args[i]);
            mask_parts(m, args[i]);
            begin_program(m, args[i]);
        } else {
            write_argument(m, args[i], next);
        }
        if (!separator)
            buf_char(m->out, '\0');
    }
}

void mask_arguments(const struct str *args, size_t count, char *to, size_t size)
{
    AUTO_BUF struct buf out = BUF(COMMAND_MAX);
    struct masker m = {.out = &out, .one_line = true};
    write_arguments(&m, args, count, ' ');
    /* Out of space or memory: the part so far is already masked. */
    str_copy_clean(to, size, buf_view(&out));
}

void mask_each(const struct str *args, size_t count, struct buf *out)
{
    struct masker m = {.out = out};
    write_arguments(&m, args, count, '\0');
}

void mask_value(struct str name, struct str value, struct buf *out)
{
    struct masker m = {.out = out};
    if (secret_name(name))
        buf_text(out, value.len && secret_worth_masking(name, value) ? MASK : "");
    else
        write_argument(&m, value, STR(""));
}

void mask_text(struct str text, struct buf *out)
{
    struct masker m = {.out = out, .may_be_hash = true};
    write_argument(&m, text, STR(""));
}

void mask_here(char *text, size_t size)
{
    /* Every secret follows a mark, has its own prefix or is long; a plain sentence has none of these. */
    if (!strpbrk(text, "=:@") && strlen(text) < 20)
        return;
    AUTO_BUF struct buf out = BUF(COMMAND_MAX);
    mask_text(str_from(text), &out);
    if (out.at && !out.failed)
        str_copy(text, size, buf_view(&out));
}
