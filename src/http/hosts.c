/* hosts.c - a breaker for each host and port that was spoken with lately.
 *
 * The table has room for four times as many hosts as there can be calls at once, so that there is
 * always one that nobody uses: the one that was used longest ago makes room.
 */
#include "http_part.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"

#include "banned.h"

static void host_free(struct weir__http_host *host)
{
    if (host)
        weir_breaker_fini(&host->breaker);
    weir__base_free(host);
}

static int host_new(struct weir__http_host **ret_host, const struct weir__url *url)
{
    struct weir__http_host *host = weir__base_alloc(1, sizeof(*host));
    char name[WEIR_NAME_MAX];
    if (!host)
        return -WEIR_E_NO_MEMORY;
    memcpy(host->name, url->host, sizeof(host->name));
    host->port = url->port;
    snprintf(name, sizeof(name), "%.24s:%u", url->host, url->port);
    int result = weir_breaker_init(&host->breaker, name, NULL);
    if (result < 0) {
        weir__base_free(host);
        return result;
    }
    *ret_host = host;
    return 0;
}

/* Under the lock. */
static struct weir__http_host *find(struct weir__http_client *client, const struct weir__url *url)
{
    for (size_t i = 0; i < client->hosts_count; i++) {
        struct weir__http_host *host = client->hosts[i];
        if (host->port == url->port && strcmp(host->name, url->host) == 0)
            return host;
    }
    return NULL;
}

/* Under the lock. What had to go, or NULL. */
static struct weir__http_host *enter(struct weir__http_client *client, struct weir__http_host *host)
{
    if (client->hosts_count < client->hosts_max) {
        client->hosts[client->hosts_count++] = host;
        return NULL;
    }
    size_t oldest = client->hosts_count;
    for (size_t i = 0; i < client->hosts_count; i++)
        if (client->hosts[i]->users == 0 &&
            (oldest == client->hosts_count || client->hosts[i]->used < client->hosts[oldest]->used))
            oldest = i;
    struct weir__http_host *gone = client->hosts[oldest];
    client->hosts[oldest] = host;
    return gone;
}

int weir__http_host_take(struct weir__http_client *client, const struct weir__url *url,
                         struct weir__http_host **ret_host)
{
    struct weir__http_host *made = NULL, *gone = NULL;
    weir_lock_acquire(&client->lock);
    struct weir__http_host *host = find(client, url);
    if (!host) {
        weir_lock_release(&client->lock);
        int result = host_new(&made, url);
        if (result < 0)
            return result;
        weir_lock_acquire(&client->lock);
        host = find(client, url); /* somebody may have been faster */
        if (!host) {
            gone = enter(client, made);
            host = made;
            made = NULL;
        }
    }
    host->users++;
    host->used = ++client->uses;
    weir_lock_release(&client->lock);
    host_free(made);
    host_free(gone);
    *ret_host = host;
    return 0;
}

void weir__http_host_give(struct weir__http_client *client, struct weir__http_host *host)
{
    weir_lock_acquire(&client->lock);
    host->users--;
    weir_lock_release(&client->lock);
}

void weir__http_hosts_free(struct weir__http_client *client)
{
    for (size_t i = 0; i < client->hosts_count; i++)
        host_free(client->hosts[i]);
    weir__base_free(client->hosts);
}
