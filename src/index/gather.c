/* gather.c - who is asked, and who is told: the sources that the configuration names, lookups over
 * them, the publisher, and what is heard of changes in etcd.
 *
 * The order is that in which they are asked: the records of this node, siblings, etcd, the DHT.
 */
#include <errno.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "client.h"
#include "cover.h"
#include "index_part.h"
#include "log.h"
#include "source_dht.h"
#include "source_etcd.h"
#include "source_sibling.h"
#include "sys.h"

#include "banned.h"

#define ASKERS_LEAST 8u
#define ASKERS_MOST  WEIR__ASKERS_MAX

struct gathered {
    struct weir__source *sources[WEIR__SOURCES_MAX];
    size_t count;
};

/* Where the next one goes; check_together() has seen that there is room. */
static struct weir__source **next_of(struct gathered *gathered)
{
    return &gathered->sources[gathered->count];
}

static int note(struct gathered *gathered, int error)
{
    gathered->count += !error;
    return error;
}

static int fail_source(char why[WEIR__DAEMON_WHY_MAX], int error, const char *url,
                       const char *reason)
{
    return weir__daemon_fail(why, error, "cannot ask '%s': %s", url,
                             reason ? reason : weir_error_text(error));
}

/* --- files --- */

static int check_trusted(const char *file, const char *key, char why[WEIR__DAEMON_WHY_MAX])
{
    const char *reason = NULL;
    int error = file[0] ? weir__http_check_trusted(file, key, &reason) : 0;
    return error ? weir__daemon_fail(why, error, "%s: %s", key, reason) : 0;
}

/* Without what is white at its end. */
static int read_token(const char *path, char token[WEIR__TOKEN_SIZE],
                      char why[WEIR__DAEMON_WHY_MAX])
{
    int fd = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_NOCTTY, 0);
    ssize_t got = fd < 0 ? -1 : weir__sys_read(fd, token, WEIR__TOKEN_SIZE);
    int saved = errno;
    if (fd >= 0)
        weir__sys_close(fd);
    int error = got < 0 ? weir_error_from_errno(saved) : 0;
    if (error) {
        bool is_ours = error == -WEIR_E_NO_MEMORY || error == -WEIR_E_NO_DESCRIPTORS;
        return weir__daemon_fail(
            why, is_ours ? error : -WEIR_E_INVALID,
            "siblings.token_file: cannot read '%s': %s: name the file that has "
            "the token, or leave the key out",
            WEIR__TYPED(path), weir__log_reason(saved));
    }
    size_t length = (size_t)got;
    while (length > 0 && strchr(" \t\r\n", token[length - 1]))
        length--;
    if (length == 0 || length >= WEIR__TOKEN_SIZE)
        return weir__daemon_fail(
            why, -WEIR_E_INVALID,
            "siblings.token_file: there is no token in '%s': write what 'weir token mint' "
            "prints into it, or leave the key out",
            WEIR__TYPED(path));
    token[length] = '\0';
    return 0;
}

static int check_token(const struct weir__index_config *own, char why[WEIR__DAEMON_WHY_MAX])
{
    char token[WEIR__TOKEN_SIZE] = "";
    if (own->siblings.nodes.count == 0 || !own->siblings.token_file[0])
        return 0;
    int error = read_token(own->siblings.token_file, token, why);
    explicit_bzero(token, sizeof(token));
    return error;
}

/* The client of a source reads them when it first connects, and its errors would be taken for those
 * of the other side. */
int weir__gather_check(const struct weir__daemon_rules *rules, char why[WEIR__DAEMON_WHY_MAX])
{
    const struct weir__index_config *own = weir__index_own(rules);
    int error = check_trusted(own->siblings.ca_file, "siblings.ca_file", why);
    if (!error)
        error = check_trusted(own->etcd.ca_file, "etcd.ca_file", why);
    return error ? error : check_token(own, why);
}

/* --- siblings --- */

static int gather_siblings(struct gathered *gathered, const struct weir__index_config *own,
                           char why[WEIR__DAEMON_WHY_MAX])
{
    char token[WEIR__TOKEN_SIZE] = "";
    int error = own->siblings.nodes.count > 0 && own->siblings.token_file[0]
                    ? read_token(own->siblings.token_file, token, why)
                    : 0;
    for (size_t i = 0; !error && i < own->siblings.nodes.count; i++) {
        const struct weir__source_sibling_options options = {
            .url = own->siblings.nodes.items[i],
            .token = token[0] ? token : NULL,
            .ca_file = own->siblings.ca_file[0] ? own->siblings.ca_file : NULL,
        };
        const char *reason = NULL;
        error = note(gathered, weir__source_sibling_new(next_of(gathered), &options, &reason));
        if (error)
            fail_source(why, error, options.url, reason);
    }
    explicit_bzero(token, sizeof(token));
    return error;
}

/* --- etcd --- */

static struct weir__source_etcd_options etcd_options(const struct weir__index *index,
                                                     const struct weir__index_config *own)
{
    return (struct weir__source_etcd_options){
        .urls = own->etcd.endpoints.items,
        .urls_count = own->etcd.endpoints.count,
        .prefix = own->etcd.prefix,
        .ca_file = own->etcd.ca_file[0] ? own->etcd.ca_file : NULL,
        .bindings = index->bindings,
    };
}

/* Somebody has changed it there. NULL: anything may have changed; a line of the cache that is full
 * takes that later. */
static int changed(void *arg, const struct weir__question *question)
{
    struct weir__index *index = arg;
    struct weir__question_key key;
    if (!question)
        return weir__cache_clear(index->cache);
    weir__question_key_of(question, &key);
    weir__resolve_forget(index, &key);
    return 0;
}

static int gather_etcd(struct weir__index *index, struct gathered *gathered,
                       const struct weir__index_config *own, char why[WEIR__DAEMON_WHY_MAX])
{
    const struct weir__source_etcd_options options = etcd_options(index, own);
    const char *reason = NULL;
    if (options.urls_count == 0)
        return 0;
    int error = note(gathered, weir__source_etcd_new(next_of(gathered), &options, &reason));
    if (!error)
        error = weir__etcd_watch_new(&index->watch, &options, changed, index, &reason);
    return error ? fail_source(why, error, options.urls[0], reason) : 0;
}

/* --- the DHT --- */

static int gather_dht(struct gathered *gathered, const struct weir__index_config *own,
                      char why[WEIR__DAEMON_WHY_MAX])
{
    int error = 0;
    for (size_t i = 0; !error && i < own->dht.proxies.count; i++) {
        const char *url = own->dht.proxies.items[i], *reason = NULL;
        error = note(gathered, weir__source_dht_new(next_of(gathered), url, &reason));
        if (error)
            fail_source(why, error, url, reason);
    }
    return error;
}

/* --- publishing --- */

/* The cursor is of the publisher's one thread. */
static int walk(void *arg, bool is_first, int64_t now_s, struct weir__record_bytes *room,
                size_t room_count, size_t *ret_count)
{
    struct weir__index *index = arg;
    if (is_first)
        index->cursor = (struct weir__records_cursor){._length = 0};
    return weir__records_walk(index->records, &index->cursor, now_s, room, room_count, ret_count);
}

static bool is_past(void *arg, const struct weir__record *record,
                    const struct weir__record_bytes *bytes)
{
    struct weir__record_mark mark;
    weir__seen_mark(((struct weir__index *)arg)->seen, &record->name, &mark);
    return weir__record_mark_compare(record, bytes, &mark) < 0;
}

/* Etcd keeps what it is told, the DHT has to be told again and again. Siblings ask. */
static int make_publisher(struct weir__index *index, const struct weir__daemon_rules *rules,
                          const struct gathered *gathered)
{
    const struct weir__index_config *own = weir__index_own(rules);
    struct weir__source *targets[WEIR__PUBLISH_TARGETS];
    struct weir__lookup_limits limits;
    size_t count = 0;
    for (size_t i = 0; i < gathered->count; i++) {
        const char *kind = gathered->sources[i]->ops->kind;
        if (strcmp(kind, "etcd") == 0 || (strcmp(kind, "dht") == 0 && own->dht.publishes))
            targets[count++] = gathered->sources[i];
    }
    if (count == 0)
        return 0;
    weir__index_fill_limits(rules, &limits);
    const struct weir__publisher_options options = {
        .targets = targets,
        .targets_count = count,
        .bindings = index->bindings,
        .walk = walk,
        .is_past = is_past,
        .arg = index,
        .every_ns = own->dht.republish_ns,
        .per_s = (uint32_t)own->dht.publish_rate,
        .breaker = limits.breaker,
    };
    return weir__publisher_new(&index->publisher, &options);
}

void weir__gather_publish(struct weir__index *index, const struct weir__record_bytes *bytes)
{
    if (index->publisher)
        (void)!weir__publisher_offer(index->publisher, bytes);
}

int weir__gather_update(struct weir__index *index, const struct weir__daemon_rules *rules)
{
    const struct weir__index_config *own = weir__index_own(rules);
    return index->publisher ? weir__publisher_update(index->publisher, own->dht.republish_ns,
                                                     (uint32_t)own->dht.publish_rate)
                            : 0;
}

/* --- lookups --- */

static void seen(void *arg, const struct weir__name *name, struct weir__record_mark *ret_mark)
{
    weir__seen_mark(((struct weir__index *)arg)->seen, name, ret_mark);
}

static int saw(void *arg, const struct weir__record *record, const struct weir__record_bytes *bytes)
{
    return weir__seen_note(((struct weir__index *)arg)->seen, record, bytes);
}

static uint64_t latency_ns(void *arg, const char *url)
{
    return weir__latency_get(((struct weir__index *)arg)->latency, url);
}

static int make_lookup(struct weir__index *index, const struct weir__daemon_rules *rules,
                       const struct gathered *gathered, uint32_t askers,
                       struct weir__lookup **ret_lookup)
{
    struct weir__lookup_options options = {
        .sources_count = gathered->count,
        .bindings = index->bindings,
        .seen = seen,
        .saw = saw,
        .latency_ns = latency_ns,
        .arg = index,
        .askers = askers,
    };
    memcpy(options.sources, gathered->sources, sizeof(options.sources));
    weir__index_fill_limits(rules, &options.limits);
    if (gathered->count == 1) /* nobody else can agree */
        options.limits.quorum = 1;
    return weir__lookup_new(ret_lookup, &options);
}

/* Each resolver, and the prefetcher, may have all of its attempts under way. */
static uint32_t count_askers(const struct weir__daemon_rules *rules)
{
    const struct weir__index_config *own = weir__index_own(rules);
    uint64_t askers = (weir__index_resolvers(rules) + 1) * (own->dht.alpha + own->dht.beta);
    askers = askers < ASKERS_LEAST ? ASKERS_LEAST : askers;
    return (uint32_t)(askers < ASKERS_MOST ? askers : ASKERS_MOST);
}

static int make_local(struct weir__index *index, const struct weir__daemon_rules *rules)
{
    struct gathered alone = {.count = 0};
    int error = note(&alone, weir__source_local_new(next_of(&alone), index));
    return error ? error : make_lookup(index, rules, &alone, 1, &index->local);
}

int weir__gather(struct weir__index *index, const struct weir__daemon_rules *rules,
                 char why[WEIR__DAEMON_WHY_MAX])
{
    const struct weir__index_config *own = weir__index_own(rules);
    struct gathered gathered = {.count = 0};
    why[0] = '\0';
    int error = note(&gathered, weir__source_local_new(next_of(&gathered), index));
    if (!error)
        error = gather_siblings(&gathered, own, why);
    if (!error)
        error = gather_etcd(index, &gathered, own, why);
    if (!error)
        error = gather_dht(&gathered, own, why);
    if (!error)
        error = make_publisher(index, rules, &gathered);
    if (!error) {
        index->askers = gathered.count > 1 ? count_askers(rules) : 1;
        error = make_lookup(index, rules, &gathered, index->askers, &index->lookup);
        gathered.count = 0; /* they are the lookup's, also when it failed */
    }
    for (size_t i = 0; i < gathered.count; i++)
        weir__source_free(gathered.sources[i]);
    if (!error)
        error = make_local(index, rules);
    if (error && why[0] == '\0')
        weir__daemon_fail(why, error, "cannot begin to look things up: %s",
                          weir_error_detail()[0] ? weir_error_detail() : weir_error_text(error));
    return error;
}
