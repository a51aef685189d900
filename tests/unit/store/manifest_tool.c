/* manifest_tool.c - for oracle_manifest.py: what we make of the manifests that it sends.
 *
 * A line of hex digits each; the answer is a line with the level and the entries ("c LENGTH
 * ADDRESS" or "h LENGTH"), or the name of the error.
 */
#include "manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

static struct weir__manifest_node node;
static unsigned char bytes[WEIR__MANIFEST_SIZE_MAX], again[WEIR__MANIFEST_SIZE_MAX];

static size_t read_hex(const char *line)
{
    size_t count = 0;
    for (; line[0] > ' ' && line[1] > ' ' && count < sizeof(bytes); line += 2) {
        char pair[3] = {line[0], line[1], '\0'};
        bytes[count++] = (unsigned char)strtoul(pair, NULL, 16);
    }
    return count;
}

static void print_node(void)
{
    uint64_t before = 0;
    printf("%u", node.level);
    for (size_t i = 0; i < node.count; i++) {
        char text[WEIR__ADDRESS_TEXT];
        const struct weir__manifest_entry *entry = &node.entries[i];
        weir__address_print(&entry->address, text);
        printf(" %s %" PRIu64 "%s%s", entry->is_hole ? "h" : "c", entry->end - before,
               entry->is_hole ? "" : " ", entry->is_hole ? "" : text);
        before = entry->end;
    }
    printf("\n");
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        size_t length = read_hex(line);
        int result = weir__manifest_decode(bytes, length, &node);
        if (result != 0)
            printf("%s\n", weir_error_name(result));
        else if (weir__manifest_encode(&node, again) != length || memcmp(bytes, again, length) != 0)
            printf("written differently\n");
        else
            print_node();
    }
    free(line);
    return 0;
}
