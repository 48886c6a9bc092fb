/* SPDX-License-Identifier: Apache-2.0
 * Local sockets on systems without Unix sockets: a loopback port named in a file (port/windows/local.h). A client first sends one
 * line: the key of that file, or that it doesn't know it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "http/listener.h"
#include "port/windows/local.h"

enum { INTRODUCTION_MAX = 64, INTRODUCTION_MS = 5000 };

struct local_place {
    struct local_files *files;
    struct local_door door;
};

/* Constant time: doesn't reveal how much was correct. */
static bool is_key(const struct local_door *door, struct str said)
{
    unsigned char differs = said.len != LOCAL_WORD_SIZE - 1;
    for (size_t i = 0; i < LOCAL_WORD_SIZE - 1; i++)
        differs |= (unsigned char)(door->key[i] ^ (i < said.len ? said.at[i] : 0));
    return differs == 0;
}

static size_t hear_introduction(struct conn *c, char *at, size_t len)
{
    struct listener *l = (struct listener *)c->listener;
    const struct local_place *place = l->held;
    struct str rest = {at, len}, line;
    if (!memchr(at, '\n', len < INTRODUCTION_MAX ? len : INTRODUCTION_MAX)) {
        if (len >= INTRODUCTION_MAX)
            conn_close(c);
        return 0;
    }
    str_cut(&rest, '\n', &line);
    if (!str_starts(line, "whirr ")) {
        conn_close(c);
        return len;
    }
    c->peer_trusted = is_key(&place->door, (struct str){line.at + 6, line.len - 6});
    c->peer_uid = c->peer_trusted ? geteuid() : (uid_t)-1;
    conn_send(c, (struct piece[]){PIECE_STR(str_from(place->door.answer)), PIECE_STR(STR("\n"))}, 2);
    l->arrived(l, c);
    return line.len + 1;
}

static const struct protocol introduction = {.input = hear_introduction, .input_max = INTRODUCTION_MAX};

static void greet(struct listener *l, struct conn *c)
{
    (void)l;
    c->protocol = &introduction;
    conn_set_deadline(c, INTRODUCTION_MS);
}

int listener_open_unix(const char *path, unsigned mode, struct listener *ret, struct error *err)
{
    (void)mode; /* the files have their own permissions */
    struct local_place *place = calloc(1, sizeof *place);
    int rc = place ? listener_open_tcp("127.0.0.1:0", ret, err) : error_set(err, -ENOMEM, "out of memory");
    if (rc == 0) {
        rc = local_door_open(path, ret->port, &place->door, &place->files);
        if (rc == -EADDRINUSE)
            error_set(err, rc, "another daemon answers on '%s'", path);
        else if (rc < 0)
            error_set(err, rc, "cannot make '%s': %s", path, strerror(-rc));
        if (rc < 0)
            listener_close(ret);
    }
    if (rc < 0) {
        free(place);
        return rc;
    }
    ret->is_unix = true;
    ret->held = place;
    ret->greet = greet;
    str_copy(ret->name, sizeof ret->name, str_from(path));
    return 0;
}

void listener_remove_local(struct listener *l)
{
    struct local_place *place = l->held;
    local_door_close(place->files);
    free(place);
    l->held = NULL;
}
