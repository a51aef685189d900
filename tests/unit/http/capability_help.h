/* capability_help.h - what tests of capabilities share: keys, folders, requests.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_TESTS_CAPABILITY_HELP_H
#define WEIR_TESTS_CAPABILITY_HELP_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"
#include "token.h"

#define KEY_ID "20261117T150652Z-9f3c21"

/* 2026-11-17T15:06:52Z */
#define NOW_S INT64_C(1794928012)

static inline struct weir__keyring *one_key(const char *id, unsigned char fill)
{
    unsigned char key[WEIR__KEY_SIZE];
    struct weir__keyring *ring;
    memset(key, fill, sizeof(key));
    CHECK_EQ(weir__keyring_new(&ring, id, key), 0);
    return ring;
}

/* An address as the system has it. */
static inline const struct sockaddr *address(const char *text)
{
    static struct sockaddr_storage storage;
    memset(&storage, 0, sizeof(storage));
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        memcpy(&storage, &v4, sizeof(v4));
    else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
        memcpy(&storage, &v6, sizeof(v6));
    else
        return NULL;
    return (const struct sockaddr *)&storage;
}

static inline struct weir__token_request get(const char *path)
{
    return (struct weir__token_request){.method = "GET",
                                        .path = path,
                                        .path_length = strlen(path),
                                        .client = address("10.1.2.3"),
                                        .body_bytes = 0,
                                        .scope = WEIR__SCOPE_READ,
                                        .now_s = NOW_S};
}

#endif
