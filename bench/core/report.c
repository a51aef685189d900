/* report.c - runs the rounds of a table and prints it, as Markdown or as JSON. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL_SIZE   64
#define COLUMNS_MAX (2 + 2 * BENCH_METRICS_MAX)
#define TARGETS_MAX 16

/* What separates the next thing from the one before it in JSON. */
static const char *json_comma = "";
static struct {
    const char *text;
    double value;
    double limit;
    bool is_at_most;
    bool is_met;
} targets[TARGETS_MAX];
static size_t target_count;

struct bench_row *bench_row_add(struct bench_table *table, const char *group, const char *name)
{
    if (table->row_count == BENCH_ROWS_MAX)
        bench_die("a row more than a table has room for");
    struct bench_row *row = &table->rows[table->row_count++];
    memset(row, 0, sizeof(*row));
    row->group = group;
    row->name = name;
    return row;
}

static bool same_group(const struct bench_row *a, const struct bench_row *b)
{
    return strcmp(a->group, b->group) == 0;
}

/* One more round of the rows first..end, beginning with another one each time. */
static void run_round(struct bench_table *table, size_t first, size_t end, size_t round)
{
    size_t count = end - first;
    for (size_t i = 0; i < count; i++) {
        struct bench_row *row = &table->rows[first + (i + round) % count];
        if (!row->run)
            continue;
        double values[BENCH_METRICS_MAX] = {0};
        row->run(row, values);
        for (size_t metric = 0; metric < table->metric_count; metric++)
            row->samples[metric][round] = values[metric];
    }
}

void bench_table_run(struct bench_table *table)
{
    if (table->rounds == 0 || table->rounds > BENCH_ROUNDS_MAX)
        bench_die("a number of rounds between 1 and the limit");
    for (size_t first = 0, end; first < table->row_count; first = end) {
        end = first + 1;
        while (end < table->row_count && same_group(&table->rows[first], &table->rows[end]))
            end++;
        for (size_t round = 0; round < table->rounds; round++)
            run_round(table, first, end, round);
    }
}

/* ---- figures ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct spread {
    double min;
    double median;
    double max;
};

static struct spread spread_of(const double *samples, size_t count)
{
    double sorted[BENCH_ROUNDS_MAX];
    memcpy(sorted, samples, count * sizeof(sorted[0]));
    qsort(sorted, count, sizeof(sorted[0]), compare);
    return (struct spread){sorted[0], (sorted[(count - 1) / 2] + sorted[count / 2]) / 2,
                           sorted[count - 1]};
}

double bench_median(const struct bench_table *table, const struct bench_row *row, size_t metric)
{
    return spread_of(row->samples[metric], table->rounds).median;
}

static const struct bench_row *peer_of(const struct bench_table *table, const struct bench_row *row)
{
    for (size_t i = 0; i < table->row_count; i++)
        if (table->rows[i].is_peer && same_group(&table->rows[i], row))
            return &table->rows[i];
    return NULL;
}

double bench_ratio(const struct bench_table *table, const struct bench_row *row, size_t metric)
{
    const struct bench_row *peer = peer_of(table, row);
    if (!peer || !peer->run || !row->run)
        return NAN;
    double ratios[BENCH_ROUNDS_MAX];
    for (size_t round = 0; round < table->rounds; round++)
        ratios[round] = row->samples[metric][round] / peer->samples[metric][round];
    return spread_of(ratios, table->rounds).median;
}

/* ---- Markdown ---- */

struct grid {
    size_t columns;
    size_t rows;
    bool is_text[COLUMNS_MAX];
    char cells[BENCH_ROWS_MAX + 1][COLUMNS_MAX][CELL_SIZE];
};

static void format_value(char *ret_cell, const struct bench_metric *metric, double value)
{
    if (metric->cap > 0 && value >= metric->cap)
        snprintf(ret_cell, CELL_SIZE / 4, ">%.0f", metric->cap);
    else
        snprintf(ret_cell, CELL_SIZE / 4, "%.*f", metric->decimals, value);
}

static void format_spread(char *ret_cell, const struct bench_metric *metric, struct spread spread)
{
    char min[CELL_SIZE / 4], median[CELL_SIZE / 4], max[CELL_SIZE / 4];
    format_value(min, metric, spread.min);
    format_value(median, metric, spread.median);
    format_value(max, metric, spread.max);
    snprintf(ret_cell, CELL_SIZE, "%s (%s..%s)", median, min, max);
}

static void fill_heading(struct grid *grid, const struct bench_table *table, bool has_groups)
{
    size_t column = 0;
    if (has_groups) {
        grid->is_text[column] = true;
        snprintf(grid->cells[0][column++], CELL_SIZE, "with");
    }
    grid->is_text[column] = true;
    snprintf(grid->cells[0][column++], CELL_SIZE, "contender");
    for (size_t i = 0; i < table->metric_count; i++) {
        snprintf(grid->cells[0][column++], CELL_SIZE, "%s", table->metrics[i].title);
        if (table->metrics[i].has_ratio)
            snprintf(grid->cells[0][column++], CELL_SIZE, "/ peer");
    }
    grid->columns = column;
}

static void fill_row(struct grid *grid, const struct bench_table *table, size_t index,
                     bool has_groups)
{
    const struct bench_row *row = &table->rows[index];
    char(*cells)[CELL_SIZE] = grid->cells[index + 1];
    size_t column = 0;
    bool repeats = index > 0 && same_group(row, &table->rows[index - 1]);
    if (has_groups)
        snprintf(cells[column++], CELL_SIZE, "%s", repeats ? "" : row->group);
    snprintf(cells[column++], CELL_SIZE, "%s%s", row->name, row->is_peer ? " (peer)" : "");
    for (size_t i = 0; i < table->metric_count; i++) {
        const struct bench_metric *metric = &table->metrics[i];
        if (row->run)
            format_spread(cells[column++], metric, spread_of(row->samples[i], table->rounds));
        else
            snprintf(cells[column++], CELL_SIZE, "not built");
        if (metric->has_ratio && row->run)
            snprintf(cells[column++], CELL_SIZE, "%.3f", bench_ratio(table, row, i));
        else if (metric->has_ratio)
            column++;
    }
}

static void print_grid(const struct grid *grid)
{
    int width[COLUMNS_MAX] = {0};
    for (size_t row = 0; row < grid->rows; row++)
        for (size_t column = 0; column < grid->columns; column++) {
            int length = (int)strlen(grid->cells[row][column]);
            width[column] = length > width[column] ? length : width[column];
        }
    for (size_t row = 0; row < grid->rows; row++) {
        for (size_t column = 0; column < grid->columns; column++)
            printf("| %*s ", grid->is_text[column] ? -width[column] : width[column],
                   grid->cells[row][column]);
        printf("|\n");
        for (size_t column = 0; row == 0 && column < grid->columns; column++)
            printf("|%.*s%s", width[column] + 1,
                   "----------------------------------------------------------------",
                   grid->is_text[column] ? "-" : ":");
        if (row == 0)
            printf("|\n");
    }
}

static void print_markdown(const struct bench_table *table)
{
    static struct grid grid;
    memset(&grid, 0, sizeof(grid));
    bool has_groups = table->rows[0].group[0] != '\0';
    fill_heading(&grid, table, has_groups);
    for (size_t i = 0; i < table->row_count; i++)
        fill_row(&grid, table, i, has_groups);
    grid.rows = table->row_count + 1;
    bool has_ratios = false;
    for (size_t i = 0; i < table->metric_count; i++)
        has_ratios = has_ratios || table->metrics[i].has_ratio;
    printf("\n### %s\n\n%s %zu rounds; median (least..greatest) of them%s.\n\n", table->title,
           table->note, table->rounds,
           has_ratios ? "; the ratios are medians of the ratios in each round" : "");
    print_grid(&grid);
}

/* ---- JSON ---- */

static void print_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        if ((unsigned char)*text >= ' ')
            putchar(*text);
    }
    putchar('"');
}

static void print_member(const char *key, const char *value)
{
    printf("\"%s\": ", key);
    print_string(value);
    printf(", ");
}

static void print_samples(const struct bench_table *table, const struct bench_row *row, size_t i)
{
    printf(", \"%s\": [", table->metrics[i].key);
    for (size_t round = 0; round < table->rounds; round++)
        printf("%s%.9g", round ? ", " : "", row->samples[i][round]);
    printf("]");
}

static void print_json(const struct bench_table *table)
{
    printf("%s\n{", json_comma);
    print_member("name", table->key);
    print_member("title", table->title);
    printf("\"rows\": [");
    for (size_t r = 0; r < table->row_count; r++) {
        const struct bench_row *row = &table->rows[r];
        printf("%s\n  {", r ? "," : "");
        print_member("with", row->group);
        print_member("contender", row->name);
        printf("\"is_peer\": %s, \"is_built\": %s", row->is_peer ? "true" : "false",
               row->run ? "true" : "false");
        for (size_t i = 0; row->run && i < table->metric_count; i++)
            print_samples(table, row, i);
        printf("}");
    }
    printf("]}");
    json_comma = ",";
}

/* ---- the report ---- */

void bench_report_begin(const struct bench_options *options)
{
    struct bench_machine machine;
    bench_machine_read(&machine);
    if (options->is_json) {
        printf("{");
        print_member("benchmark", "core");
        print_member("date", machine.date);
        print_member("commit", machine.commit);
        print_member("command", machine.command);
        print_member("cpu", machine.cpu);
        print_member("kernel", machine.kernel);
        print_member("compiler", BENCH_FLAGS);
        print_member("load_at_start", machine.load);
        printf("\"cores\": %ld, \"tables\": [", machine.cores);
        return;
    }
    printf("## core, %s\n\n", machine.date);
    printf("- commit: %s\n", machine.commit);
    printf("- machine: %s, %ld cores, %s; load at the start %s\n", machine.cpu, machine.cores,
           machine.kernel, machine.load);
    printf("- compiler: %s\n", BENCH_FLAGS);
    printf("- command: `%s`\n", machine.command);
}

void bench_report_table(const struct bench_options *options, const struct bench_table *table)
{
    if (options->is_json)
        print_json(table);
    else
        print_markdown(table);
    fflush(stdout);
}

void bench_report_target(const struct bench_options *options, const char *text, double value,
                         bool is_at_most, double limit)
{
    bool is_met = is_at_most ? value <= limit : value >= limit;
    if (target_count == TARGETS_MAX)
        bench_die("a target more than there is room for");
    targets[target_count].text = text;
    targets[target_count].value = value;
    targets[target_count].limit = limit;
    targets[target_count].is_at_most = is_at_most;
    targets[target_count++].is_met = is_met;
    if (!options->is_json)
        printf("\nTarget %s: %s: %.3f, to be at %s %.3g.\n", is_met ? "met" : "MISSED", text, value,
               is_at_most ? "most" : "least", limit);
    fflush(stdout);
}

void bench_report_end(const struct bench_options *options)
{
    if (!options->is_json)
        return;
    printf("], \"targets\": [");
    for (size_t i = 0; i < target_count; i++) {
        printf("%s\n{", i ? "," : "");
        print_member("target", targets[i].text);
        printf("\"value\": %.6g, \"%s\": %.6g, \"is_met\": %s}", targets[i].value,
               targets[i].is_at_most ? "at_most" : "at_least", targets[i].limit,
               targets[i].is_met ? "true" : "false");
    }
    printf("]}\n");
}
