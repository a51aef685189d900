#!/bin/bash
# The text of every kind of object, as promtool sees it; and promtool's taste in names against ours.
#
# DUMP is tests/e2e/metrics_dump.c. Prints TAP.
set -euo pipefail
: "${DUMP:?the path of metrics-dump}"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
number=0
failures=0

ok() { # name, status, what to show if it failed
    number=$((number + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $number - $1"
    else
        failures=$((failures + 1))
        echo "not ok $number - $1"
        printf '%s\n' "$3" | sed 's/^/# /'
    fi
}

if ! command -v promtool >/dev/null; then
    echo "1..0 # SKIP promtool is not installed"
    exit 0
fi

status=0
"$DUMP" >"$dir/text" 2>"$dir/err" || status=$?
ok "the text is written" "$status" "$(cat "$dir/err")"

status=0
promtool check metrics <"$dir/text" >"$dir/said" 2>&1 || status=$?
ok "promtool accepts it" "$status" "$(cat "$dir/said")"
status=0
[ ! -s "$dir/said" ] || status=1
ok "without a warning" "$status" "$(cat "$dir/said")"

grep '^# TYPE' "$dir/text" | cut -d' ' -f3 >"$dir/families"
status=0
LC_ALL=C sort -cu "$dir/families" 2>"$dir/err" || status=1
ok "families are sorted, and each is there once" "$status" "$(cat "$dir/err")"

status=0
grep -v '^#' "$dir/text" | sed 's/ [^ ]*$//' | LC_ALL=C sort | uniq -d >"$dir/err"
[ ! -s "$dir/err" ] || status=1
ok "no series is there twice" "$status" "$(cat "$dir/err")"

while read -r line; do
    status=0
    grep -qxF -- "$line" "$dir/text" || status=1
    ok "$line" "$status" "no such line"
done <<'END'
weir_budget_capacity{budget="files"} 1
weir_budget_in_use{budget="files"} 2
weir_budget_permits{budget="files"} 1
weir_budget_timed_out_total{budget="files"} 1
weir_budget_capacity{budget="{odd} = 100%, ok?"} 1
weir_adapt_cuts_total{adapt="files"} 1
weir_queue_depth{queue="work"} 1
weir_queue_dropped_total{queue="work"} 1
weir_bus_lagged_total{topic="events"} 2
weir_breaker_state{target="etcd",state="closed"} 1
weir_breaker_state{target="peer-2",state="open"} 1
weir_breaker_state{target="peer-2",state="half_open"} 0
weir_breaker_open_total{target="peer-2"} 1
weir_breaker_rejected_total{target="peer-2"} 10
weir_tasks_spawned_total{crew="node",kind="worker"} 1
weir_tasks_canceled_total{crew="node",kind="janitor"} 1
weir_tasks_aborted_total{crew="node",kind="worker"} 0
weir_crew_state{crew="node",state="stopped"} 1
weir_pool_scan_ring_in_use_bytes{pool="scan"} 4096
weir_pool_spill_slots_capacity{pool="scan"} +Inf
weir_slots_device_in_use{slots="disks",device="8:1"} 1
weir_slots_device_capacity{slots="disks",device="unknown"} 4
weir_frontier_blobs{frontier="linux.git"} 1
weir_frontier_in_use_bytes{frontier="linux.git"} 100
weir_rate_paced_total{rate="repair"} 1
weir_rate_waiting_tokens{rate="repair",priority="low"} 0
weir_admit_refused_total{admit="clients",reason="cap"} 1
weir_hedge_latency_seconds_count{hedge="lookup"} 1
weir_sched_done_total{sched="scan"} 1
weir_sched_live{sched="scan"} 0
weir_watch_version{watch="config"} 1
weir_busy_rejections_total{endpoint="GET /o/{addr}"} 3
weir_busy_rejections_total{endpoint="odd \"\\\n value"} 0
# HELP weir_io_seconds_total Time spent in I/O.\nSecond line, back\\slash.
weir_io_seconds_total 1.23456789
weir_balance -5
weir_repair_wait_seconds_bucket{le="0.001024"} 0
weir_repair_wait_seconds_bucket{le="0.004096"} 1
weir_repair_wait_seconds_bucket{le="+Inf"} 1
weir_repair_wait_seconds_sum 0.0015
weir_object_bytes_bucket{le="1024"} 0
weir_object_bytes_bucket{le="65536"} 1
weir_object_bytes_sum 4096
END

# A name is refused exactly when promtool would warn of it.
for name in index_dht_lookup_ms index_dht_lookup_seconds io_sec weir_b wait_minutes wait_days \
    wait_milliseconds size_kilobytes size_megabytes size_kibibytes size_bytes rate_megabits bits \
    bytes_per_second temperature_celsius temperature_fahrenheit mass_pounds mass_kilograms \
    length_miles length_diameters power_watts queue_gauge my_counter_x x_total x_count x_bucket \
    x_sum x_info a_histogram_of_things summaries a_summary camelCase plain d_x used_percent \
    used_ratio recounter hours_of_work microphone nanobytes pico counter \
    size_gibibits mass_ounces length_inches heat_calories speed_in_volts a_m_b b_s; do
    ours=0
    "$DUMP" "$name" >"$dir/text" 2>/dev/null || ours=$?
    theirs=0
    promtool check metrics <"$dir/text" >"$dir/said" 2>&1 || theirs=1
    status=0
    [ "$ours" -eq "$theirs" ] || status=1
    ok "'$name': same answer as promtool's" "$status" "ours $ours, promtool's: $(cat "$dir/said")"
done

echo "1..$number"
[ "$failures" -eq 0 ]
