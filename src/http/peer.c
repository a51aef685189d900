/* peer.c - addresses: of clients, of proxies, and what a proxy says of the client behind it.
 *
 * For comparing, an IPv4 address is the IPv6 address ::ffff:a.b.c.d.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_part.h"
#include "values.h"

#include "banned.h"

#define MAPPED_BITS 96u

static bool bytes_of(const struct sockaddr_storage *address, uint8_t bytes[16])
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (address->ss_family == AF_INET) {
        memcpy(bytes, mapped, sizeof(mapped));
        memcpy(bytes + 12, &((const struct sockaddr_in *)address)->sin_addr, 4);
        return true;
    }
    if (address->ss_family == AF_INET6) {
        memcpy(bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
        return true;
    }
    return false;
}

/* An address without a port; brackets and a port are for those who list it. */
static bool parse_address(const char *text, struct sockaddr_storage *ret_address)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
        address.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
        address.ss_family = AF_INET6;
    else
        return false;
    *ret_address = address;
    return true;
}

int weir__network_parse(struct weir__network *network, const char *text)
{
    char address[INET6_ADDRSTRLEN];
    struct sockaddr_storage parsed;
    size_t length = strcspn(text, "/");
    uint64_t bits = UINT64_MAX;
    if (length >= sizeof(address))
        return -WEIR_E_INVALID;
    memcpy(address, text, length);
    address[length] = '\0';
    if (!parse_address(address, &parsed) || !bytes_of(&parsed, network->bytes))
        return -WEIR_E_INVALID;
    unsigned most = parsed.ss_family == AF_INET ? 32 : 128;
    if (text[length] == '\0')
        bits = most;
    else if (weir__value_parse(WEIR__UNIT_COUNT, text + length + 1, &bits) < 0 || bits > most)
        return -WEIR_E_INVALID;
    network->bits = (unsigned)bits + (most == 32 ? MAPPED_BITS : 0);
    return 0;
}

static bool is_within(const struct weir__network *network, const uint8_t bytes[16])
{
    unsigned whole = network->bits / 8, rest = network->bits % 8;
    return memcmp(network->bytes, bytes, whole) == 0 &&
           (rest == 0 || ((network->bytes[whole] ^ bytes[whole]) >> (8 - rest)) == 0);
}

bool weir__network_has(const struct weir__server *server, const struct sockaddr_storage *address)
{
    uint8_t bytes[16];
    if (server->options.trusted_count == 0 || !bytes_of(address, bytes))
        return false;
    for (size_t i = 0; i < server->options.trusted_count; i++)
        if (is_within(&server->trusted[i], bytes))
            return true;
    return false;
}

size_t weir__address_key(const struct sockaddr_storage *address, uint8_t key[16])
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (!bytes_of(address, key))
        return 0;
    /* A client of IPv6 has a network of 2^64 addresses to choose from. */
    return memcmp(key, mapped, sizeof(mapped)) == 0 ? 16 : 8;
}

/* --- X-Forwarded-For --- */

/* One entry: an address, also in brackets, also with a port. */
static bool parse_entry(const char *from, size_t length, struct sockaddr_storage *ret_address)
{
    char text[INET6_ADDRSTRLEN + 8];
    while (length > 0 && (*from == ' ' || *from == '\t'))
        from++, length--;
    while (length > 0 && (from[length - 1] == ' ' || from[length - 1] == '\t'))
        length--;
    if (length == 0 || length >= sizeof(text))
        return false;
    memcpy(text, from, length);
    text[length] = '\0';
    char *host = text, *colon = strchr(text, ':'), *port = NULL;
    if (text[0] == '[') {
        char *end = strchr(text, ']');
        if (!end || (end[1] != '\0' && end[1] != ':'))
            return false;
        port = end[1] == ':' ? end + 2 : NULL;
        *end = '\0';
        host = text + 1;
    } else if (colon && !strchr(colon + 1, ':')) {
        *colon = '\0';
        port = colon + 1;
    }
    uint64_t number = 0;
    if (port && (weir__value_parse(WEIR__UNIT_COUNT, port, &number) < 0 || number > 65535))
        return false;
    return parse_address(host, ret_address);
}

/* From the end of the list. 1: found one that is not trusted; 0: all are; negative: malformed. */
static int look_through(const struct weir__server *server, const char *list, size_t length,
                        struct sockaddr_storage *client)
{
    for (;;) {
        size_t from = length;
        while (from > 0 && list[from - 1] != ',')
            from--;
        if (!parse_entry(list + from, length - from, client))
            return -1;
        if (!weir__network_has(server, client))
            return 1;
        if (from == 0)
            return 0;
        length = from - 1;
    }
}

bool weir__peer_forwarded(const struct weir__exchange *x, struct sockaddr_storage *ret_client)
{
    static const char name[] = "x-forwarded-for";
    struct sockaddr_storage client = x->conn->peer;
    for (size_t i = x->head.count; i-- > 0;) {
        const struct weir__head_field *field = &x->head.fields[i];
        if (field->name_length != sizeof(name) - 1 || strcasecmp(x->input + field->name, name) != 0)
            continue;
        int result = look_through(x->server, x->input + field->value, field->value_length, &client);
        if (result < 0)
            return false;
        if (result > 0)
            break;
    }
    *ret_client = client;
    return true;
}

/* --- text --- */

void weir__address_text(const struct sockaddr_storage *address,
                        char text[WEIR__SERVER_ADDRESS_SIZE])
{
    char host[INET6_ADDRSTRLEN] = "?";
    unsigned port = 0;
    bool is_long = address->ss_family == AF_INET6;
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
        port = ntohs(v4->sin_port);
    } else if (is_long) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
        port = ntohs(v6->sin6_port);
    } else {
        snprintf(text, WEIR__SERVER_ADDRESS_SIZE, "unix");
        return;
    }
    if (port == 0)
        snprintf(text, WEIR__SERVER_ADDRESS_SIZE, "%s", host);
    else
        snprintf(text, WEIR__SERVER_ADDRESS_SIZE, "%s%s%s:%u", is_long ? "[" : "", host,
                 is_long ? "]" : "", port);
}
