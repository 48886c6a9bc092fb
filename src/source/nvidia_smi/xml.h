/* SPDX-License-Identifier: Apache-2.0
 * A small XML reader: elements and their text, one after the other, without a tree. Bounded in depth; entities are not followed.
 */
#pragma once

#include "base/str.h"

enum { XML_DEPTH_MAX = 32, XML_PATH_SIZE = 256 };

enum xml_event {
    XML_OPEN,  /* an element begins: path, attributes */
    XML_CLOSE, /* it ends: path, and text where it had no elements inside */
    XML_END,   /* the document is complete */
    XML_ERROR, /* truncated, too deep, or not XML; why says which */
};

struct xml {
    struct str rest;
    /* of the current element */
    char path[XML_PATH_SIZE]; /* "nvidia_smi_log/gpu/uuid" */
    size_t path_len;
    struct str attributes; /* as written */
    struct str text;       /* as written, trimmed; xml_decode() resolves what is escaped */
    const char *why;
    /* inside */
    int depth;
    const char *text_start;
    bool leaf;        /* no element was opened inside the current one */
    bool self_closed; /* <x/>: the close event is still due */
    bool pop;         /* the path loses its last part before the next event */
    bool seen_root;
};

void xml_init(struct xml *x, struct str text);
enum xml_event xml_next(struct xml *x);

/* The value of an attribute of the current element; false when it has none of this name. */
bool xml_attribute(const struct xml *x, const char *name, struct str *value);
/* Resolves &lt; &amp; &#65; and the like into `to`. What cannot be resolved stays as it is. */
void xml_decode(struct str text, char *to, size_t size);
