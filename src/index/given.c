/* given.c - see given.h. */
#include "given.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "server.h"

#include "banned.h"

/* --- objects --- */

struct field {
    const char *name;
    json_type type;
    bool is_needed;
    const char *wrong; /* what to say of another type */
    const json_t *value;
};

/* Every member is one of the fields, and of its type. */
static int take_fields(const json_t *root, struct field *fields, size_t count,
                       const char **ret_message)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)root, key, value)
    {
        struct field *field = NULL;
        for (size_t i = 0; i < count; i++)
            if (strcmp(fields[i].name, key) == 0)
                field = &fields[i];
        if (!field) {
            *ret_message = "the body has a field that is not known here";
            return -WEIR_E_INVALID;
        }
        if (json_typeof(value) != field->type) {
            *ret_message = field->wrong;
            return -WEIR_E_INVALID;
        }
        field->value = value;
    }
    for (size_t i = 0; i < count; i++)
        if (fields[i].is_needed && !fields[i].value) {
            *ret_message = fields[i].wrong;
            return -WEIR_E_INVALID;
        }
    return 0;
}

static json_t *load(const char *text, size_t length, const char **ret_message)
{
    json_error_t problem;
    json_t *root = length > WEIR__GIVEN_BODY_MAX
                       ? NULL
                       : json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    if (root && json_is_object(root))
        return root;
    json_decref(root);
    *ret_message = "the body is no object of JSON in which each field stands once";
    return NULL;
}

static int take_record(const json_t *value, struct weir__record_bytes *ret_bytes,
                       const char **ret_message)
{
    int error = weir__record_parse(json_string_value(value), json_string_length(value), ret_bytes);
    if (error)
        *ret_message = "'record' is a signed record of up to 600 bytes in base64url";
    return error ? -WEIR_E_INVALID : 0;
}

static int read_given(struct weir__given *ret_given, const char *text, size_t length,
                      bool takes_previous, const char **ret_message)
{
    struct field fields[] = {
        {"record", JSON_STRING, true, "the body needs the field 'record', a text", NULL},
        {"previous", JSON_INTEGER, false, "'previous' is a sequence: a whole number from 0 on",
         NULL},
    };
    struct weir__given given = {.has_previous = false};
    json_t *root = load(text, length, ret_message);
    if (!root)
        return -WEIR_E_INVALID;
    int error = take_fields(root, fields, takes_previous ? 2 : 1, ret_message);
    if (!error)
        error = take_record(fields[0].value, &given.record, ret_message);
    if (!error && fields[1].value) {
        json_int_t previous = json_integer_value(fields[1].value);
        given.has_previous = true;
        given.previous = (uint64_t)previous;
        if (previous < 0) {
            *ret_message = fields[1].wrong;
            error = -WEIR_E_INVALID;
        }
    }
    json_decref(root);
    if (!error)
        *ret_given = given;
    return error;
}

int weir__given_name(struct weir__given *ret_given, const char *text, size_t length,
                     const char **ret_message)
{
    return read_given(ret_given, text, length, true, ret_message);
}

int weir__given_provider(struct weir__given *ret_given, const char *text, size_t length,
                         const char **ret_message)
{
    return read_given(ret_given, text, length, false, ret_message);
}

int weir__given_question(struct weir__question *ret_question, const char *text, size_t length)
{
    struct weir__question question = {.kind = WEIR__ASK_PROVIDERS};
    if (weir__address_parse(text, length, &question.address)) {
        question = (struct weir__question){.kind = WEIR__ASK_NAME};
        if (weir__name_parse(text, length, &question.name))
            return -WEIR_E_INVALID;
    }
    *ret_question = question;
    return 0;
}

int weir__given_key(struct weir__question *ret_question, const char *text, size_t length,
                    const char **ret_message)
{
    struct field field = {"key", JSON_STRING, true,
                          "the body is {\"key\": \"a name or an address\"}", NULL};
    json_t *root = load(text, length, ret_message);
    if (!root)
        return -WEIR_E_INVALID;
    int error = take_fields(root, &field, 1, ret_message);
    if (!error) {
        error = weir__given_question(ret_question, json_string_value(field.value),
                                     json_string_length(field.value));
        if (error)
            *ret_message = "'key' is neither a name nor an address";
    }
    json_decref(root);
    return error;
}

/* --- queries --- */

static bool parse_limit(const char *text, size_t *ret_limit)
{
    char *end;
    if (text[0] < '1' || text[0] > '9' || strlen(text) > 9)
        return false;
    *ret_limit = strtoull(text, &end, 10);
    return *end == '\0' && *ret_limit <= WEIR__GIVEN_LIMIT_MOST;
}

static bool take_part(struct weir__given_list *list, unsigned which, const char *text)
{
    size_t length = strlen(text);
    struct weir__name name;
    switch (which) {
    case 0:
        memcpy(list->prefix, text, length + 1);
        return weir__name_is_prefix(text, length);
    case 1:
        memcpy(list->after, text, length + 1);
        return weir__name_parse(text, length, &name) == 0;
    default:
        return parse_limit(text, &list->limit);
    }
}

int weir__given_list(struct weir__given_list *ret_list, const char *query, const char **ret_message)
{
    static const char *const names[] = {"prefix=", "after=", "limit="};
    struct weir__given_list list = {.limit = WEIR__GIVEN_LIMIT};
    unsigned seen = 0;
    *ret_message = "the query is prefix=TEXT&after=NAME&limit=1..1000, each once at most";
    while (*query) {
        char text[WEIR__NAME_MAX + 1];
        size_t length = strcspn(query, "&"), head = 0;
        unsigned which = 0;
        while (which < 3 && strncmp(query, names[which], head = strlen(names[which])) != 0)
            which++;
        if (which == 3 || seen & 1u << which ||
            weir__query_decode(text, sizeof(text), query + head, length - head) ||
            !take_part(&list, which, text))
            return -WEIR_E_INVALID;
        seen |= 1u << which;
        query += length + (query[length] == '&');
    }
    *ret_list = list;
    return 0;
}
