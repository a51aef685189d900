/* caveat.c - one caveat: read strictly, and held against a request. */
#include "caveat.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "utc.h"

#include "banned.h"

#define ADDRESS_SIZE INET6_ADDRSTRLEN

struct text {
    const char *at;
    size_t left;
};

static const char *const methods[] = {"GET", "HEAD", "PUT", "POST", "DELETE", NULL};
static const char *const scopes[] = {"read", "write", "delete", "admin", "peer", NULL};

/* --- reading --- */

static bool is_word(const struct text *text, const char *word)
{
    return text->left == strlen(word) && memcmp(text->at, word, text->left) == 0;
}

/* Takes the next item of a list; false: there is none, or it is empty. */
static bool next_item(struct text *list, struct text *ret_item)
{
    const char *comma = memchr(list->at, ',', list->left);
    size_t length = comma ? (size_t)(comma - list->at) : list->left;
    *ret_item = (struct text){list->at, length};
    size_t used = comma ? length + 1 : length;
    list->at += used;
    list->left -= used;
    return length > 0 && !(comma && list->left == 0);
}

/* The bits of the words in a list; 0: it is none. */
static unsigned read_words(struct text list, const char *const *words)
{
    unsigned bits = 0;
    struct text item;
    do {
        unsigned bit = 0;
        if (!next_item(&list, &item))
            return 0;
        for (unsigned i = 0; words[i]; i++)
            if (is_word(&item, words[i]))
                bit = 1u << i;
        if (bit == 0 || (bits & bit) != 0)
            return 0;
        bits |= bit;
    } while (list.left > 0);
    return bits;
}

static bool read_number(const struct text *text, uint64_t max, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (text->left == 0 || (text->left > 1 && text->at[0] == '0'))
        return false;
    for (size_t i = 0; i < text->left; i++) {
        if (text->at[i] < '0' || text->at[i] > '9')
            return false;
        unsigned digit = (unsigned)(text->at[i] - '0');
        if (value > (max - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret_value = value;
    return true;
}

/* Whether it means one thing: '/', and segments that are none of "", "." and "..". */
static bool is_plain_path(const char *path, size_t length)
{
    size_t segment = 0; /* bytes of it so far */
    if (length == 0 || path[0] != '/')
        return false;
    for (size_t i = 1; i <= length; i++) {
        if (i < length && ((unsigned char)path[i] < ' ' || path[i] == 0x7f))
            return false;
        if (i < length && path[i] != '/') {
            segment++;
            continue;
        }
        if ((segment == 0 && i < length) || (segment == 1 && path[i - 1] == '.') ||
            (segment == 2 && memcmp(path + i - 2, "..", 2) == 0))
            return false;
        segment = 0;
    }
    return true;
}

static bool read_path(const struct text *text, struct weir__caveat *caveat)
{
    size_t length = text->left;
    if (!is_plain_path(text->at, length))
        return false;
    if (text->at[length - 1] == '/')
        length--;
    caveat->path = text->at;
    caveat->path_length = length;
    return true;
}

static bool is_v4_inside(const unsigned char bytes[16])
{
    static const unsigned char head[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(bytes, head, sizeof(head)) == 0;
}

/* Whether nothing but zeros stands behind the prefix. */
static bool is_prefix_alone(const struct weir__network *network, unsigned size)
{
    for (unsigned bit = network->bits; bit < 8 * size; bit++)
        if (network->bytes[bit / 8] & (0x80u >> bit % 8))
            return false;
    return true;
}

static bool read_address(const struct text *text, struct weir__network *network)
{
    char address[ADDRESS_SIZE];
    if (text->left >= sizeof(address) || memchr(text->at, '\0', text->left))
        return false;
    memcpy(address, text->at, text->left);
    address[text->left] = '\0';
    memset(network, 0, sizeof(*network));
    network->is_v4 = !memchr(text->at, ':', text->left);
    if (inet_pton(network->is_v4 ? AF_INET : AF_INET6, address, network->bytes) != 1)
        return false;
    return network->is_v4 || !is_v4_inside(network->bytes);
}

static bool read_network(const struct text *text, struct weir__network *network)
{
    const char *slash = memchr(text->at, '/', text->left);
    if (!slash)
        return false;
    struct text address = {text->at, (size_t)(slash - text->at)};
    struct text prefix = {slash + 1, text->left - address.left - 1};
    uint64_t bits;
    if (!read_address(&address, network) || !read_number(&prefix, network->is_v4 ? 32 : 128, &bits))
        return false;
    network->bits = (unsigned)bits;
    return is_prefix_alone(network, network->is_v4 ? 4 : 16);
}

static bool is_same_network(const struct weir__network *a, const struct weir__network *b)
{
    return a->is_v4 == b->is_v4 && a->bits == b->bits &&
           memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static bool read_networks(struct text list, struct weir__caveat *caveat)
{
    struct text item;
    do {
        struct weir__network *network = &caveat->networks[caveat->networks_count];
        if (caveat->networks_count == WEIR__CAVEAT_ITEMS || !next_item(&list, &item) ||
            !read_network(&item, network))
            return false;
        for (size_t i = 0; i < caveat->networks_count; i++)
            if (is_same_network(&caveat->networks[i], network))
                return false;
        caveat->networks_count++;
    } while (list.left > 0);
    return true;
}

static bool begins(struct text *text, const char *head)
{
    size_t length = strlen(head);
    if (text->left < length || memcmp(text->at, head, length) != 0)
        return false;
    text->at += length;
    text->left -= length;
    return true;
}

static bool read_value(struct text value, struct weir__caveat *caveat)
{
    switch (caveat->kind) {
    case WEIR__CAVEAT_EXPIRES:
        return weir__utc_parse(&caveat->expires_s, value.at, value.left) == 0;
    case WEIR__CAVEAT_METHOD:
        caveat->methods = read_words(value, methods);
        return caveat->methods != 0;
    case WEIR__CAVEAT_PATH:
        return read_path(&value, caveat);
    case WEIR__CAVEAT_CLIENT:
        return read_networks(value, caveat);
    case WEIR__CAVEAT_BODY:
        return read_number(&value, WEIR__BODY_UNKNOWN - 1, &caveat->body_max);
    case WEIR__CAVEAT_SCOPE:
        caveat->scopes = read_words(value, scopes);
        return caveat->scopes != 0;
    }
    return false;
}

int weir__caveat_parse(struct weir__caveat *ret_caveat, const char *text, size_t length)
{
    static const struct {
        const char *head;
        enum weir__caveat_kind kind;
        bool is_one; /* what follows is no list */
    } heads[] = {
        {"expires < ", WEIR__CAVEAT_EXPIRES, false}, {"method in ", WEIR__CAVEAT_METHOD, false},
        {"path under ", WEIR__CAVEAT_PATH, false},   {"client in ", WEIR__CAVEAT_CLIENT, false},
        {"body <= ", WEIR__CAVEAT_BODY, false},      {"scope in ", WEIR__CAVEAT_SCOPE, false},
        {"scope = ", WEIR__CAVEAT_SCOPE, true},
    };
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        struct text rest = {text, length};
        if (!begins(&rest, heads[i].head))
            continue;
        struct weir__caveat caveat = {.kind = heads[i].kind};
        bool is_list = heads[i].is_one && memchr(rest.at, ',', rest.left);
        if (is_list || !read_value(rest, &caveat))
            return -WEIR_E_INVALID;
        *ret_caveat = caveat;
        return 0;
    }
    return -WEIR_E_INVALID;
}

/* --- holding it against a request --- */

static bool has_method(unsigned bits, const char *method)
{
    for (unsigned i = 0; methods[i]; i++)
        if (strcmp(methods[i], method) == 0)
            return (bits & (1u << i)) != 0;
    return false;
}

static bool is_under(const struct weir__caveat *caveat, const char *path, size_t length)
{
    if (!is_plain_path(path, length) || length < caveat->path_length ||
        (caveat->path_length > 0 && memcmp(path, caveat->path, caveat->path_length) != 0))
        return false;
    return length == caveat->path_length || path[caveat->path_length] == '/';
}

/* False: it is no address that a network could have in it. */
static bool address_of(const struct sockaddr *client, struct weir__network *ret_address)
{
    struct weir__network address = {.bits = 128};
    if (client && client->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, client, sizeof(in));
        memcpy(address.bytes, &in.sin_addr, 4);
        address.is_v4 = true;
    } else if (client && client->sa_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy(&in, client, sizeof(in));
        memcpy(address.bytes, &in.sin6_addr, 16);
        if (is_v4_inside(address.bytes)) {
            memmove(address.bytes, address.bytes + 12, 4);
            address.is_v4 = true;
        }
    } else {
        return false;
    }
    *ret_address = address;
    return true;
}

static bool is_inside(const struct weir__network *network, const struct weir__network *address)
{
    if (network->is_v4 != address->is_v4)
        return false;
    for (unsigned bit = 0; bit < network->bits; bit++)
        if ((network->bytes[bit / 8] ^ address->bytes[bit / 8]) & (0x80u >> bit % 8))
            return false;
    return true;
}

static bool has_client(const struct weir__caveat *caveat, const struct sockaddr *client)
{
    struct weir__network address;
    bool is_there = false;
    if (!address_of(client, &address))
        return false;
    for (size_t i = 0; i < caveat->networks_count; i++)
        is_there = is_there || is_inside(&caveat->networks[i], &address);
    return is_there;
}

const char *weir__caveat_refusal(const struct weir__caveat *caveat,
                                 const struct weir__token_request *request)
{
    switch (caveat->kind) {
    case WEIR__CAVEAT_EXPIRES:
        return request->now_s < caveat->expires_s ? NULL : "has expired";
    case WEIR__CAVEAT_METHOD:
        return has_method(caveat->methods, request->method) ? NULL : "does not allow this method";
    case WEIR__CAVEAT_PATH:
        return is_under(caveat, request->path, request->path_length) ? NULL
                                                                     : "does not allow this path";
    case WEIR__CAVEAT_CLIENT:
        return has_client(caveat, request->client) ? NULL : "is not for this client";
    case WEIR__CAVEAT_BODY:
        return request->body_bytes == WEIR__BODY_UNKNOWN || request->body_bytes <= caveat->body_max
                   ? NULL
                   : "does not allow a body of this size";
    case WEIR__CAVEAT_SCOPE:
        return caveat->scopes & request->scope ? NULL : "does not have this scope";
    }
    return "has a caveat that is not known here";
}

int weir__network_write(char text[WEIR__NETWORK_TEXT_SIZE], const char *given)
{
    struct weir__network network;
    struct text whole = {given, strnlen(given, WEIR__NETWORK_TEXT_SIZE)};
    bool has_prefix = memchr(given, '/', whole.left) != NULL;
    if (has_prefix ? !read_network(&whole, &network) : !read_address(&whole, &network))
        return -WEIR_E_INVALID;
    if (has_prefix)
        snprintf(text, WEIR__NETWORK_TEXT_SIZE, "%s", given);
    else
        snprintf(text, WEIR__NETWORK_TEXT_SIZE, "%s/%u", given, network.is_v4 ? 32 : 128);
    return 0;
}
