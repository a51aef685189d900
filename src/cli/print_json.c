/* print_json.c - see print_json.h. */
#include "print_json.h"

#include <weir/error.h>

#include "log.h"

#include "banned.h"

int weir__print_json(struct weir__out *out, struct weir__json *json,
                     const struct weir__buffer *buffer)
{
    int result = weir__json_finish(json);
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "cannot print JSON: %s", weir_error_text(result));
    else
        weir__out_write(out, weir__buffer_text(buffer), weir__buffer_length(buffer));
    return result;
}
