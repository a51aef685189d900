/* binding_words.h - the words by which binding.c knows what names and values are.
 *
 * Texts are not terminated, and compared in any case of letters unless it says otherwise.
 *
 * Ownership: borrows the texts for the call.
 */
#ifndef WEIR_SCAN_ENGINE_BINDING_WORDS_H
#define WEIR_SCAN_ENGINE_BINDING_WORDS_H

#include <weir/defs.h>

/* A value that is none: null, None, a word that people put where one is to be filled in. */
bool weir__binding_is_stand_in(const char *text, size_t length);
/* What the path of a reference begins with: process.env.X, secrets.X, var.x. */
bool weir__binding_is_root(const char *text, size_t length);
/* The field that has a name: `name`, `key`. */
bool weir__binding_is_namer(const char *text, size_t length);
/* The field that has its value. */
bool weir__binding_is_value(const char *text, size_t length);
/* The element that has it, below one that has the name. */
bool weir__binding_is_child(const char *text, size_t length);
/* A word that begins an expression: what comes behind it is no value. */
bool weir__binding_is_opening(const char *text, size_t length);
/* The field that says where its value comes from. */
bool weir__binding_is_source(const char *text, size_t length);
/* The name of a secret: it says so anywhere. */
bool weir__binding_is_kind(const char *text, size_t length);
/* The name of a part of something: its kind, its value, what it is for. */
bool weir__binding_is_plain(const char *text, size_t length);
/* Whether what stands between the beginning of the line and the name, from `first` on, declares
 * it: `export`, `ARG`, an item of a list. */
bool weir__binding_is_declared(const char *first, const char *name);
/* Whether it is `#define` that does, which needs no sign. */
bool weir__binding_is_defined(const char *first, const char *name);

#endif
