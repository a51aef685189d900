/* describe.c - how a rule is looked for, for people who wonder. */
#include <string.h>

#include "parts.h"

#include "banned.h"

bool weir__engine_look(const struct weir__engine *engine, const char *id,
                       struct weir__rule_look *ret_look)
{
    for (uint32_t i = 0; i < engine->count; i++) {
        const struct weir__prepared *prepared = &engine->prepared[i];
        struct weir__expression study = {0};
        if (strcmp(prepared->rule->id, id) != 0)
            continue;
        if (prepared->has_expression && weir__expression_study(prepared->rule->regex, &study) < 0)
            study.required.count = 0;
        *ret_look = (struct weir__rule_look){
            .width = prepared->width,
            .is_cut = prepared->rule->max_width == 0 && study.width_max > prepared->width,
            .is_by_literals = prepared->is_by_literals,
            .is_by_expression = prepared->has_expression && !prepared->is_by_literals,
            .is_near = prepared->look != WEIR__LOOK_EVERYWHERE,
            .literals = study.required,
        };
        return true;
    }
    return false;
}
