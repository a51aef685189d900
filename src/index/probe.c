/* probe.c - how fast providers answer: one of those that were told of is asked now and then.
 *
 * One thread of low priority sends HEAD /healthz to providers of answers that lookups found, at
 * most a few a second and to each once in a while. Their addresses come from strangers: where they
 * may lead is checked when a connection is made (reach.h), nothing is followed, and no more than
 * the head of an answer is read.
 */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "client.h"
#include "hash.h"
#include "index_part.h"
#include "reach.h"
#include "resources.h"

#include "banned.h"

#define PROBES_OF_ONE 4u /* of the providers of one answer, the best */
#define PER_S         5u
#define AGAIN_NS      (60 * WEIR_NS_PER_S)
#define ANSWER_NS     (2 * WEIR_NS_PER_S)
#define REMEMBERED    4096u

struct url {
    char text[WEIR__PROVIDER_URL_MAX + 1];
};

void weir__probe_ask(struct weir__index *index, const struct weir__answer *answer)
{
    struct url url;
    for (size_t i = 0; i < answer->providers_count && i < PROBES_OF_ONE; i++) {
        memcpy(url.text, answer->providers[i].url, sizeof(url.text));
        if (weir_queue_try_send(&index->probes, &url))
            return;
    }
}

/* --- when it was asked last --- */

struct visit {
    uint64_t hash, at_ns;
};

/* Two that share a place are asked more often, or less: that does no harm. */
static bool is_due(struct visit *visits, const char *url, uint64_t now_ns)
{
    struct weir__hash hash;
    unsigned char digest[WEIR__HASH_SIZE];
    uint64_t word;
    weir__hash_init(&hash);
    weir__hash_update(&hash, url, strlen(url));
    weir__hash_final(&hash, digest);
    memcpy(&word, digest, sizeof(word));
    struct visit *visit = &visits[word % REMEMBERED];
    if (visit->hash == word && now_ns - visit->at_ns < AGAIN_NS)
        return false;
    *visit = (struct visit){word, now_ns};
    return true;
}

/* --- asking --- */

static int take_head(void *arg, const struct weir__http_head *head)
{
    (void)arg;
    (void)head;
    return 1; /* without its body */
}

static void ask(struct weir__index *index, struct weir__http_client *client, const char *url,
                struct weir_cancel *stop)
{
    char target[WEIR__PROVIDER_URL_MAX + 16];
    size_t length = strlen(url);
    while (length > 0 && url[length - 1] == '/')
        length--;
    snprintf(target, sizeof(target), "%.*s/healthz", (int)length, url);
    const struct weir__http_request request = {
        .method = WEIR__HTTP_HEAD, .url = target, .body_max = 1, .tries_max = 1};
    const struct weir__http_hooks hooks = {.head = take_head};
    struct weir_deadline deadline = weir_deadline_in(ANSWER_NS, stop);
    struct weir__http_outcome outcome;
    uint64_t began_ns = weir_now_ns();
    int error = weir__http_do(client, &request, &hooks, &outcome, &deadline);
    if (error == -WEIR_E_CANCELED)
        return;
    weir_counter_add(error ? &index->counts.probes_failed : &index->counts.probes, 1);
    weir__latency_note(index->latency, url, error ? 0 : weir_now_ns() - began_ns);
}

/* Who asks, and whom it may reach. */
struct prober {
    struct weir__http_client *client; /* NULL: there was no memory for it, or it is to be made */
    struct weir__reach reach;
    struct visit *visits;
};

_Static_assert(WEIR__CONFIG_LIST_MAX <= WEIR__REACH_ALLOWED_MAX,
               "each of providers.networks has a place");

static int make_client(struct prober *prober)
{
    const char *why;
    const struct weir__http_client_options options = {
        .connections_max = 2,
        .connect_ns = ANSWER_NS,
        .agent = "weir-index",
        .reach = &prober->reach,
        .has_no_proxy = true,
    };
    return weir__http_client_new(&prober->client, &options, &why);
}

/* With another providers.networks the client is another one, whose connections are new, and what
 * could not be reached may be tried at once. */
static int keep_up(struct weir__index *index, struct prober *prober)
{
    struct weir__daemon_rules *rules = weir__daemon_rules(&index->daemon);
    const struct weir__config_list *networks = &weir__index_own(rules)->providers.networks;
    struct weir__reach reach;
    int error = weir__reach_init(&reach, networks->items, networks->count);
    weir__daemon_rules_give(rules);
    if (error)
        return error;
    if (memcmp(&reach, &prober->reach, sizeof(reach)) != 0) {
        weir__http_client_free(prober->client);
        prober->client = NULL;
        prober->reach = reach;
        memset(prober->visits, 0, REMEMBERED * sizeof(*prober->visits));
    }
    return prober->client ? 0 : make_client(prober);
}

static bool is_wanted(struct weir__index *index)
{
    struct weir__daemon_rules *rules = weir__daemon_rules(&index->daemon);
    bool is_wanted = weir__index_own(rules)->providers.probes;
    weir__daemon_rules_give(rules);
    return is_wanted;
}

static bool is_due_now(struct weir__index *index, struct prober *prober, const char *url)
{
    return prober->visits && is_wanted(index) && keep_up(index, prober) == 0 &&
           is_due(prober->visits, url, weir_now_ns());
}

/* Without a client, or memory for visits, it takes the line off all the same. */
int weir__probe_main(struct weir_crew_self *self, void *arg)
{
    struct weir__index *index = weir__index_of(arg);
    struct prober prober = {.visits = weir__base_alloc(REMEMBERED, sizeof(*prober.visits))};
    struct weir_deadline until_stop = weir_deadline_until(self->stop);
    struct url url;
    weir__resources_give_way();
    while (weir_queue_recv(&index->probes, &url, &until_stop) == 0) {
        if (!is_due_now(index, &prober, url.text))
            continue;
        ask(index, prober.client, url.text, self->stop);
        struct weir_deadline pause = weir_deadline_in(WEIR_NS_PER_S / PER_S, self->stop);
        if (weir_deadline_sleep(&pause) == -WEIR_E_CANCELED)
            break;
    }
    weir__http_client_free(prober.client);
    weir__base_free(prober.visits);
    return 0;
}
