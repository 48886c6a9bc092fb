/* SPDX-License-Identifier: Apache-2.0
 * A small XML reader: a stream of elements and their text, without a tree. Bounded depth; doesn't follow entities.
 */
#pragma once

#include "base/str.h"

enum { XML_DEPTH_MAX = 32, XML_PATH_SIZE = 256 };

enum xml_event {
    XML_OPEN,  /* an element starts: path, attributes */
    XML_CLOSE, /* it ends: path, and text if it had no child elements */
    XML_END,   /* the document is complete */
    XML_ERROR, /* truncated, too deep, or not XML; why says which */
};

struct xml {
    struct str rest;
    /* of the current element */
    char path[XML_PATH_SIZE]; /* "nvidia_smi_log/gpu/uuid" */
    size_t path_len;
    struct str attributes; /* as written */
    struct str text;       /* as written, trimmed; xml_decode() resolves escapes */
    const char *why;
    /* inside */
    int depth;
    const char *text_start;
    bool leaf;        /* the current element has no children */
    bool self_closed; /* <x/>: the close event is pending */
    bool pop;         /* remove the last path component before the next event */
    bool seen_root;
};

void xml_init(struct xml *x, struct str text);
enum xml_event xml_next(struct xml *x);

/* An attribute of the current element; false: missing. */
bool xml_attribute(const struct xml *x, const char *name, struct str *value);
/* Resolves &lt; &amp; &#65; and the like into `to`. Unknown ones stay as they are. */
void xml_decode(struct str text, char *to, size_t size);
