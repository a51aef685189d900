/* print_json.c - see print_json.h. */
#include "print_json.h"

#include <weir/error.h>

#include "log.h"

#include "banned.h"

#define FAILURE_MAX (64u << 10)

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

void weir__print_json_failure(struct weir__out *out, int error, const char *message)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    struct weir__json json;
    weir__buffer_init(&buffer, FAILURE_MAX);
    weir__json_init(&json, &buffer);
    weir__json_object(&json);
    weir__json_key(&json, "error");
    weir__json_string(&json, weir_error_name(error));
    weir__json_key(&json, "message");
    weir__json_string(&json, message && *message ? message : weir_error_text(error));
    weir__json_end(&json);
    (void)!weir__print_json(out, &json, &buffer); /* the command fails in any case */
}
