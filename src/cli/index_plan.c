/* index_plan.c - see index_plan.h. */
#include "index_plan.h"

#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "cover.h"
#include "index_config.h"
#include "log.h"
#include "plan.h"
#include "print_json.h"

#include "banned.h"

#define JSON_MAX (16u << 10)
/* A lookup makes so many attempts: the hedges that dht.hedge_ratio allows come on top. */
#define HEDGE_FACTOR 1.05

bool weir__index_plan_is_given(const struct weir__index_plan_values *values)
{
    return values->rps || values->hit || values->service_ms || values->dht_ms || values->burst ||
           values->json;
}

/* A plain number: what strtod() would take besides (hex, inf) is none here. */
static int parse(const char *option, const char *text, double preset, double *ret_value)
{
    char *end = NULL;
    *ret_value = preset;
    if (!text)
        return 0;
    size_t digits = strspn(text, "0123456789.");
    double value = digits > 0 && text[digits] == '\0' ? strtod(text, &end) : -1;
    if (value >= 0 && end && *end == '\0') {
        *ret_value = value;
        return 0;
    }
    weir__log(WEIR__LOG_ERROR, "--%s '%s' is not a number", option, WEIR__TYPED(text));
    return -WEIR_E_USAGE;
}

static int read_input(const struct weir__index_plan_values *values, struct weir__plan_input *input)
{
    if (!values->rps) {
        weir__log(WEIR__LOG_ERROR, "for how many requests a second? give --rps");
        return -WEIR_E_USAGE;
    }
    input->hedge_factor = HEDGE_FACTOR;
    int error = parse("rps", values->rps, 0, &input->rps);
    if (!error)
        error = parse("hit", values->hit, 0.8, &input->hit);
    if (!error)
        error = parse("service-ms", values->service_ms, 5, &input->service_ms);
    if (!error)
        error = parse("dht-ms", values->dht_ms, 40, &input->lookup_ms);
    double twice = 2 * input->rps < WEIR__PLAN_RATE_MAX ? 2 * input->rps : WEIR__PLAN_RATE_MAX;
    return error ? error : parse("burst", values->burst, twice, &input->burst);
}

/* What lets in less than that by default, and has to be set as well. */
struct limits {
    bool is_resolve_low, is_inflight_low;
};

static int read_limits(const struct weir__plan *plan, struct limits *ret_limits)
{
    WEIR_CLEANUP(weir__config_unref_at)
    struct weir__config *config = NULL;
    const struct weir__config_sources none = {.file = NULL};
    int error = weir__config_load(&config, &weir__index_schema, &none, NULL);
    if (error)
        return error;
    const struct weir__index_config *own = weir__config_values(config, &weir__index_table);
    const struct weir__service_config *service = weir__config_values(config, &weir__service_table);
    *ret_limits = (struct limits){
        .is_resolve_low = own->index.resolve_max < plan->at_once,
        .is_inflight_low = service->server.max_inflight < plan->at_once,
    };
    return 0;
}

static void put_real(struct weir__json *json, const char *key, double value)
{
    weir__json_key(json, key);
    weir__json_real(json, value);
}

static int print_json(const struct weir__call *call, const struct weir__plan_input *input,
                      const struct weir__plan *plan)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    struct weir__json json;
    weir__buffer_init(&buffer, JSON_MAX);
    weir__json_init(&json, &buffer);
    weir__json_object(&json);
    weir__json_key(&json, "workers");
    weir__json_u64(&json, plan->workers);
    weir__json_key(&json, "queue");
    weir__json_u64(&json, plan->queue);
    weir__json_key(&json, "at_once");
    weir__json_u64(&json, plan->at_once);
    put_real(&json, "busy", plan->busy);
    put_real(&json, "utilisation", plan->utilisation);
    put_real(&json, "rps", input->rps);
    put_real(&json, "hit", input->hit);
    put_real(&json, "service_ms", input->service_ms);
    put_real(&json, "dht_ms", input->lookup_ms);
    put_real(&json, "burst", input->burst);
    weir__json_end(&json);
    return weir__print_json(call->out, &json, &buffer);
}

/* As a file of the configuration has it. */
static int print_keys(const struct weir__call *call, const struct weir__plan *plan)
{
    struct limits limits;
    int error = read_limits(plan, &limits);
    if (error) {
        weir__log(WEIR__LOG_ERROR, "%s", weir_error_text(error));
        return error;
    }
    weir__out_printf(call->out, "index.workers = %u\nqueues.work   = %u\n", plan->workers,
                     plan->queue);
    if (limits.is_resolve_low)
        weir__out_printf(call->out, "index.resolve_max   = %u\n", plan->at_once);
    if (limits.is_inflight_low)
        weir__out_printf(call->out, "server.max_inflight = %u\n", plan->at_once);
    weir__out_printf(call->out,
                     "\n# %.2f workers are busy on average, which is %.0f %% of them.\n"
                     "# Measure --service-ms and --dht-ms by request_duration_seconds and "
                     "index_dht_lookup_seconds of /metrics.\n",
                     plan->busy, 100 * plan->utilisation);
    return 0;
}

/* By the option that gave it. */
static void tell_bounds(const char *field)
{
    static const struct {
        const char *field, *option, *bounds;
    } rows[] = {
        {"rps", "rps", "above 0, and at most 10000000"},
        {"hit", "hit", "0 to 1"},
        {"service_ms", "service-ms", "above 0, and at most 60000"},
        {"lookup_ms", "dht-ms", "0 to 60000"},
        {"burst", "burst", "0 to 10000000"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].field, field) == 0)
            weir__log(WEIR__LOG_ERROR, "--%s is out of its bounds: %s", rows[i].option,
                      rows[i].bounds);
}

int weir__index_plan(const struct weir__call *call, const struct weir__index_plan_values *values)
{
    struct weir__plan_input input = {.rps = 0};
    struct weir__plan plan;
    const char *field = "";
    int error = read_input(values, &input);
    if (error)
        return error;
    error = weir__plan(&plan, &input, &field);
    if (error) {
        tell_bounds(field);
        return -WEIR_E_USAGE;
    }
    if (plan.workers_are_capped || plan.queue_is_capped)
        weir__log(WEIR__LOG_WARNING, "one node is not enough for that: share the load out");
    return values->json ? print_json(call, &input, &plan) : print_keys(call, &plan);
}
