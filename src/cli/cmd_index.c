/* cmd_index.c - weir index: the service of names, and how large it has to be. */
#include <stdio.h>

#include <weir/error.h>

#include "commands.h"
#include "index_config.h"
#include "index_plan.h"
#include "index_service.h"
#include "log.h"
#include "serve_command.h"

#include "banned.h"

COMMAND(index);

struct values {
    struct weir__serve_values serve; /* first */
    struct weir__index_plan_values plan;
};

static const char *const actions[] = {"plan", NULL};

static const struct weir__option options[] = {
    WEIR__SERVE_OPTIONS(
        "keep everything in this folder",
        "It is made if it is not there. Without this and the key 'data': the folder weir/index of "
        "$XDG_DATA_HOME (~/.local/share), and for root /var/lib/weir/index.",
        "listen there; 127.0.0.1:8471 without it",
        "let others read and publish without tokens and TLS"),
    {WEIR__OPTION_STRING(struct values, plan.rps), .name = "rps", .value_name = "N",
     .section = "Of plan", .help = "requests to resolve, a second"},
    {WEIR__OPTION_STRING(struct values, plan.hit), .name = "hit", .value_name = "SHARE",
     .help = "share of them that the cache answers, 0 to 1; 0.8 without it"},
    {WEIR__OPTION_STRING(struct values, plan.service_ms), .name = "service-ms", .value_name = "MS",
     .help = "time of one without a lookup; 5 without it"},
    {WEIR__OPTION_STRING(struct values, plan.dht_ms), .name = "dht-ms", .value_name = "MS",
     .help = "time of a lookup; 40 without it"},
    {WEIR__OPTION_STRING(struct values, plan.burst), .name = "burst", .value_name = "N",
     .help = "requests in the worst second; twice --rps without it"},
    {WEIR__OPTION_FLAG(struct values, plan.json), .name = "json", .help = "print JSON"},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "ACTION",
     .max = 1,
     .words = actions,
     .help = "plan: say how many workers and how long a line a load needs"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir index", "serve on 127.0.0.1:8471, from the default folder"},
    {"weir index --set siblings.nodes=http://10.0.0.8:8471,http://10.0.0.9:8471",
     "ask two other nodes, too"},
    {"weir index --set dht.proxies=http://127.0.0.1:8000", "and an OpenDHT: dhtnode --proxyserver"},
    {"weir index plan --rps 2000 --hit 0.9 --dht-ms 60", "how many workers does that need?"},
    {NULL, NULL},
};

const struct weir__usage usage_index = {
    .description =
        "Serves what names mean and who provides it. A name stands for a manifest, by a record "
        "that the key of the name has signed; a provider says by a record of its own that it has "
        "what an address stands for. Records are kept here, and looked for at other nodes, in etcd "
        "and in an OpenDHT where these are configured.\n\n"
        "    GET /resolve/NAME         what a name means, and who provides that\n"
        "    GET /providers/ADDRESS    who provides it, the best first\n"
        "    PUT, DELETE /names/NAME   a signed record: see 'weir name'\n"
        "    PUT /providers/ADDRESS    a signed record: see 'weir providers'\n"
        "    GET /names?prefix=        the names that are kept here\n"
        "    GET /routing/v1/providers/CID   as the delegated routing of IPFS has it\n"
        "    POST /admin/reindex, /admin/pin, /admin/unpin    needs a token: see 'weir token'\n"
        "    GET /healthz, /readyz, /version, /metrics\n\n"
        "SIGTERM and SIGINT drain, SIGHUP reads configuration, keys and certificates anew. The "
        "exit status is 0 after a clean end, 2 when the configuration is wrong, 3 when something "
        "had to be aborted.\n\n"
        "plan works out how many workers keep a load below 70 % of them: workers = rps * (hit * S "
        "+ (1 - hit) * (S + D)) / 0.7.",
    .examples = examples,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct values),
    .is_service = true,
};

static bool lacks_folder(const struct weir__config *config)
{
    const struct weir__index_config *own = weir__config_values(config, &weir__index_table);
    return !(own->data && own->data[0]) && !own->amnesia.is_enabled;
}

static const struct weir__serve serve = {
    .service = &weir__index_service,
    .lacks_folder = lacks_folder,
    .default_folder = weir__data_default_index,
};

static bool is_serving_given(const struct weir__serve_values *values)
{
    return values->data || values->listen.count > 0 || values->config || values->set.count > 0 ||
           values->open || values->amnesia || values->topology;
}

int cmd_index(const struct weir__call *call)
{
    const struct values *values = call->values;
    bool plans = call->operands_count > 0;
    if (plans ? is_serving_given(&values->serve) : weir__index_plan_is_given(&values->plan)) {
        weir__log(WEIR__LOG_ERROR, plans ? "plan serves nothing: leave the options of the service "
                                           "out"
                                         : "--rps, --hit, --service-ms, --dht-ms, --burst and "
                                           "--json are options of 'weir index plan'");
        return -WEIR_E_USAGE;
    }
    return plans ? weir__index_plan(call, &values->plan) : weir__serve(call, &serve);
}
