/* rules_embed.c - runs while Weir is built: makes C of the built-in rules.
 *
 *     rules-embed OUT.c RULES.toml...
 *
 * The files are taken as one text and loaded by the loader that the program has, so that there is
 * one understanding of rules. Three arrays come out: the text, the rules packed, and how they were
 * written.
 */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "buffer.h"
#include "engine/rules_pack.h"

#include "banned.h"

#define TEXT_MAX (16u << 20)

static int read_file(const char *path, struct weir__buffer *text)
{
    char block[65536];
    FILE *file = fopen(path, "re");
    int result = file ? 0 : -WEIR_E_NOT_FOUND;
    size_t count;
    while (result == 0 && (count = fread(block, 1, sizeof(block), file)) > 0)
        result = weir__buffer_append(text, block, count);
    if (result == 0 && ferror(file))
        result = -WEIR_E_IO;
    if (file)
        fclose(file);
    return result < 0 ? result : weir__buffer_putc(text, '\n');
}

/* Octal escapes have three digits, so that a digit behind them is not taken for a fourth. */
static void print_array(FILE *out, const char *name, const struct weir__buffer *buffer)
{
    const char *bytes = weir__buffer_text(buffer);
    size_t length = weir__buffer_length(buffer), column = 0;
    fprintf(out, "const size_t %s_length = %zu;\nconst char %s[] =\n    \"", name, length, name);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        bool is_plain = byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\' && byte != '?';
        column += is_plain ? 1 : 4;
        fprintf(out, is_plain ? "%c" : "\\%03o", byte);
        if (column >= 90 && i + 1 < length) {
            fputs("\"\n    \"", out);
            column = 0;
        }
    }
    fputs("\";\n", out);
}

static int print_all(const char *path, const struct weir__buffer *text,
                     const struct weir__buffer *pack, const struct weir__buffer *written)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return -WEIR_E_IO;
    fputs("/* Made by rules-embed from rules/. */\n#include \"engine/rules_pack.h\"\n\n", out);
    print_array(out, "weir__builtin_text", text);
    print_array(out, "weir__builtin_pack", pack);
    print_array(out, "weir__builtin_written", written);
    bool is_bad = ferror(out);
    return fclose(out) != 0 || is_bad ? -WEIR_E_IO : 0;
}

int main(int argc, char **argv)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer text;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer pack;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer written;
    weir__buffer_init(&written, TEXT_MAX);
    weir__buffer_init(&text, TEXT_MAX);
    weir__buffer_init(&pack, TEXT_MAX);
    struct weir__rules *rules = NULL;
    struct weir__rules_error error = {.text = ""};
    int result = argc > 2 ? 0 : -WEIR_E_USAGE;
    for (int i = 2; i < argc && result == 0; i++)
        result = read_file(argv[i], &text);
    if (result == 0)
        result = weir__rules_load(&rules, "built-in", weir__buffer_text(&text),
                                  weir__buffer_length(&text), NULL, &error);
    if (result == 0)
        result = weir__rules_pack(rules, &pack);
    if (result == 0)
        result = weir__rules_pack_written(rules, &written);
    if (result == 0)
        result = print_all(argv[1], &text, &pack, &written);
    for (size_t i = 0; rules && i < rules->notes.count; i++)
        fprintf(stderr, "rules-embed: %s\n", rules->notes.items[i]);
    weir__rules_free(rules);
    if (result < 0)
        fprintf(stderr, "rules-embed: %s\n", error.text[0] ? error.text : weir_error_text(result));
    return weir_error_exit(result);
}
