/* routing_text.c - see routing_text.h. */
#include "routing_text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cid.h"
#include "json.h"

#include "banned.h"

/* --- what is asked for --- */

/* Thousandths; 1000 where there is none, 0 where it is no number. */
static unsigned weight_of(const char *part, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        if (part[at] != ';')
            continue;
        at++;
        while (at < length && (part[at] == ' ' || part[at] == '\t'))
            at++;
        if (at + 1 >= length || (part[at] != 'q' && part[at] != 'Q') || part[at + 1] != '=')
            continue;
        double weight = strtod(part + at + 2, NULL);
        return weight > 0 && weight <= 1 ? (unsigned)(weight * 1000) : 0;
    }
    return 1000;
}

static bool is_type(const char *part, size_t length, const char *type)
{
    size_t known = strlen(type);
    return length >= known && strncasecmp(part, type, known) == 0 &&
           (length == known || strchr("; \t", part[known]));
}

bool weir__routing_wants_lines(const char *accept)
{
    unsigned lines = 0, object = 0;
    while (accept && *accept) {
        accept += strspn(accept, ", \t");
        size_t length = strcspn(accept, ",");
        if (is_type(accept, length, "application/x-ndjson"))
            lines = weight_of(accept, length);
        else if (is_type(accept, length, "application/json"))
            object = weight_of(accept, length);
        accept += length;
    }
    return lines > 0 && lines >= object;
}

/* --- what is told --- */

static void put_text(struct weir__json *json, const char *key, const char *text)
{
    weir__json_key(json, key);
    weir__json_string(json, text);
}

static void put_list(struct weir__json *json, const char *key, const char *text)
{
    weir__json_key(json, key);
    weir__json_array(json);
    weir__json_string(json, text);
    weir__json_end(json);
}

/* The key of a provider is in its record, which begins with magic, version and kind. */
static const unsigned char *key_of(const struct weir__record_bytes *bytes)
{
    return bytes->bytes + 4;
}

static void put_provider(struct weir__json *json, const struct weir__answer *answer, size_t n)
{
    const struct weir__provider *provider = &answer->providers[n];
    char peer[WEIR__PEER_TEXT], place[WEIR__MULTIADDR_TEXT], record[WEIR__RECORD_TEXT];
    if (weir__multiaddr_print(provider->url, place))
        place[0] = '\0';
    weir__peer_print(key_of(&answer->provider_bytes[n]), peer);
    weir__record_print(&answer->provider_bytes[n], record);
    weir__json_object(json);
    put_text(json, "Schema", "peer");
    put_text(json, "ID", peer);
    if (place[0])
        put_list(json, "Addrs", place);
    put_list(json, "Protocols", WEIR__ROUTING_PROTOCOL);
    weir__json_key(json, WEIR__ROUTING_PROTOCOL);
    weir__json_object(json);
    put_text(json, "url", provider->url);
    if (provider->region[0])
        put_text(json, "region", provider->region);
    put_text(json, "record", record);
    weir__json_end(json);
    weir__json_end(json);
}

int weir__routing_put_line(struct weir__buffer *buffer, const struct weir__answer *answer, size_t n)
{
    struct weir__json json;
    weir__json_init(&json, buffer);
    put_provider(&json, answer, n);
    return weir__json_finish(&json);
}

int weir__routing_put_object(struct weir__buffer *buffer, const struct weir__answer *answer)
{
    struct weir__json json;
    size_t count = answer ? answer->providers_count : 0;
    weir__json_init(&json, buffer);
    weir__json_object(&json);
    weir__json_key(&json, "Providers");
    weir__json_array(&json);
    for (size_t i = 0; i < count && i < WEIR__ROUTING_JSON_MAX; i++)
        put_provider(&json, answer, i);
    weir__json_end(&json);
    weir__json_end(&json);
    return weir__json_finish(&json);
}
