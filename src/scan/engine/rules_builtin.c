/* rules_builtin.c - the rules that are built in. */
#include "rules_pack.h"

#include "banned.h"

int weir__rules_builtin(struct weir__rules **ret_rules)
{
    return weir__rules_unpack(ret_rules, weir__builtin_pack, weir__builtin_pack_length);
}

struct weir__rules_packed weir__rules_builtin_packed(void)
{
    return (struct weir__rules_packed){
        .rules = weir__builtin_pack,
        .written = weir__builtin_written,
        .rules_length = weir__builtin_pack_length,
        .written_length = weir__builtin_written_length,
    };
}

const char *weir__rules_builtin_text(size_t *ret_length)
{
    *ret_length = weir__builtin_text_length;
    return weir__builtin_text;
}
