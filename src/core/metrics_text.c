/* metrics_text.c - Prometheus text, and the names that may stand in it.
 *
 * Text goes through a buffer of one kilobyte to the sink. HELP and TYPE are written with the first
 * sample of a family, so that a family without samples leaves no trace. Numbers are integers; times
 * are nanoseconds printed as seconds by moving the point, so no digit is lost and no locale or
 * rounding comes in.
 *
 * Names are checked when they are added and not when they are printed: whatever promtool would
 * refuse or warn of (units that are not base units, types in names, suffixes at the wrong type) is
 * refused there, where somebody can still do something about it.
 */
#include "metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- writing ---- */

void weir__metrics_flush(struct weir__metrics_out *out)
{
    if (!out->error && out->size > 0)
        out->error = out->sink(out->arg, out->bytes, out->size);
    out->size = 0;
}

static void put_bytes(struct weir__metrics_out *out, const char *bytes, size_t size)
{
    while (size > 0 && !out->error) {
        size_t room = sizeof(out->bytes) - out->size;
        size_t part = size < room ? size : room;
        memcpy(out->bytes + out->size, bytes, part);
        out->size += part;
        bytes += part;
        size -= part;
        if (out->size == sizeof(out->bytes))
            weir__metrics_flush(out);
    }
}

static void put(struct weir__metrics_out *out, const char *text)
{
    put_bytes(out, text, strlen(text));
}

static void put_help(struct weir__metrics_out *out, const char *help)
{
    for (const char *p = help; *p; p++) {
        if (*p == '\\')
            put(out, "\\\\");
        else if (*p == '\n')
            put(out, "\\n");
        else
            put_bytes(out, p, 1);
    }
}

void weir__metrics_begin(struct weir__metrics_out *out, const struct weir__metrics_family *family)
{
    out->family = family;
    out->has_head = false;
}

static void put_head(struct weir__metrics_out *out)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    out->has_head = true;
    put(out, "# HELP ");
    put(out, out->family->name);
    put(out, " ");
    put_help(out, out->family->help);
    put(out, "\n# TYPE ");
    put(out, out->family->name);
    put(out, " ");
    put(out, types[out->family->type]);
    put(out, "\n");
}

static bool ends_in(const char *text, const char *suffix)
{
    size_t length = strlen(text), part = strlen(suffix);
    return length >= part && strcmp(text + length - part, suffix) == 0;
}

static bool is_in_seconds(const char *name)
{
    return ends_in(name, "_seconds") || ends_in(name, "_seconds_total");
}

/* Room for any number of 64 bits, with a sign and a point. */
#define NUMBER_ROOM 32

static void print_number(char text[NUMBER_ROOM], bool is_negative, uint64_t value, bool is_time)
{
    const char *sign = is_negative ? "-" : "";
    if (!is_time || value % WEIR_NS_PER_S == 0) {
        snprintf(text, NUMBER_ROOM, "%s%" PRIu64, sign, is_time ? value / WEIR_NS_PER_S : value);
        return;
    }
    snprintf(text, NUMBER_ROOM, "%s%" PRIu64 ".%09" PRIu64, sign, value / WEIR_NS_PER_S,
             value % WEIR_NS_PER_S);
    size_t length = strlen(text);
    while (text[length - 1] == '0')
        text[--length] = '\0';
}

static void put_sample(struct weir__metrics_out *out, const char *suffix, const char *labels,
                       const char *more, const char *number)
{
    if (!out->has_head)
        put_head(out);
    put(out, out->family->name);
    put(out, suffix);
    if (*labels || *more) {
        put(out, "{");
        put(out, labels);
        put(out, *labels && *more ? "," : "");
        put(out, more);
        put(out, "}");
    }
    put(out, " ");
    put(out, number);
    put(out, "\n");
}

void weir__metrics_sample(struct weir__metrics_out *out, const char *labels, const char *more,
                          uint64_t value)
{
    char number[NUMBER_ROOM] = "+Inf";
    if (value != UINT64_MAX || out->family->type != WEIR__METRICS_GAUGE)
        print_number(number, false, value, is_in_seconds(out->family->name));
    put_sample(out, "", labels, more, number);
}

static uint64_t number_at(const void *snapshot, size_t at)
{
    uint64_t value;
    memcpy(&value, (const char *)snapshot + at, sizeof(value));
    return value;
}

WEIR__METRICS_EMIT(number)
{
    weir__metrics_sample(out, labels, "", number_at(snapshot, family->at));
}

WEIR__METRICS_EMIT(difference)
{
    uint64_t more = number_at(snapshot, family->at), less = number_at(snapshot, family->minus);
    weir__metrics_sample(out, labels, "", more > less ? more - less : 0);
}

WEIR__METRICS_EMIT(signed)
{
    int64_t value = (int64_t)number_at(snapshot, family->at);
    char number[NUMBER_ROOM];
    print_number(number, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value,
                 is_in_seconds(family->name));
    put_sample(out, "", labels, "", number);
}

WEIR__METRICS_EMIT(flag)
{
    bool value;
    memcpy(&value, (const char *)snapshot + family->at, sizeof(value));
    weir__metrics_sample(out, labels, "", value);
}

WEIR__METRICS_EMIT(histogram)
{
    const struct weir_histogram_snapshot *histogram =
        (const void *)((const char *)snapshot + family->at);
    bool is_time = is_in_seconds(family->name);
    char number[NUMBER_ROOM], bound[NUMBER_ROOM], le[NUMBER_ROOM + 8];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < histogram->bound_count; i++) {
        sum += histogram->buckets[i];
        print_number(bound, false, histogram->bounds[i], is_time);
        snprintf(le, sizeof(le), "le=\"%s\"", bound);
        print_number(number, false, sum, false);
        put_sample(out, "_bucket", labels, le, number);
    }
    print_number(number, false, histogram->count, false);
    put_sample(out, "_bucket", labels, "le=\"+Inf\"", number);
    print_number(bound, false, histogram->sum, is_time);
    put_sample(out, "_sum", labels, "", bound);
    put_sample(out, "_count", labels, "", number);
}

/* ---- UTF-8 and labels ---- */

/* How many bytes the character at p has; 0 when it is not UTF-8. */
static size_t character_size(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    if (p[0] < 0x80)
        return 1;
    size_t size = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, and what lies above the last character. */
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return size;
}

static bool is_utf8(const char *text)
{
    while (*text) {
        size_t size = character_size(text);
        if (size == 0)
            return false;
        text += size;
    }
    return true;
}

void weir__metrics_label(char *text, size_t room, const char *name, const char *value)
{
    size_t at = strlen(text);
    if (room - at < WEIR__METRICS_LABEL_ROOM)
        return;
    at += (size_t)snprintf(text + at, room - at, "%s%s=\"", at ? "," : "", name);
    for (; *value; value++) {
        if (*value == '\n')
            at += (size_t)snprintf(text + at, room - at, "\\n");
        else if (*value == '\\' || *value == '"')
            at += (size_t)snprintf(text + at, room - at, "\\%c", *value);
        else
            text[at++] = *value;
    }
    snprintf(text + at, room - at, "\"");
}

/* ---- checking ---- */

static bool is_name(const char *name)
{
    for (size_t i = 0; name[i]; i++) {
        bool is_letter = (name[i] >= 'a' && name[i] <= 'z') || name[i] == '_';
        bool is_digit = name[i] >= '0' && name[i] <= '9';
        if (!is_letter && (!is_digit || i == 0))
            return false;
    }
    return name[0] && strncmp(name, "__", 2) != 0 &&
           strnlen(name, WEIR_METRICS_NAME_MAX) < WEIR_METRICS_NAME_MAX;
}

static bool is_one_of(const char *word, size_t length, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == length && memcmp(word, list[i], length) == 0)
            return true;
    return false;
}

static bool is_abbreviation(const char *word, size_t length)
{
    static const char *const list[] = {"s",  "ms", "us", "ns", "sec", "b", "kb",
                                       "mb", "gb", "tb", "pb", "m",   "h", "d"};
    return is_one_of(word, length, list, COUNT(list));
}

/* A unit that has a base unit to be used instead: one of another system, or one with a prefix. */
static bool is_wrong_unit(const char *word, size_t length)
{
    static const char *const wrong[] = {"bits",    "minutes",    "hours",   "days",   "weeks",
                                        "kelvins", "fahrenheit", "rankine", "inches", "yards",
                                        "miles",   "calories",   "pounds",  "ounces"};
    static const char *const base[] = {"seconds", "bytes", "bits",   "amperes", "celsius", "grams",
                                       "joules",  "volts", "meters", "metres",  "kelvin"};
    static const char *const prefixes[] = {
        "pico", "nano", "micro", "milli", "centi", "deci", "deca", "hecto", "kilo", "kibi",
        "mega", "mebi", "mibi",  "giga",  "gibi",  "tera", "tebi", "peta",  "pebi"};
    if (is_one_of(word, length, wrong, COUNT(wrong)))
        return true;
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        size_t part = strlen(prefixes[i]);
        if (length > part && memcmp(word, prefixes[i], part) == 0 &&
            is_one_of(word + part, length - part, base, COUNT(base)))
            return true;
    }
    return false;
}

static bool has_wrong_unit(const char *name)
{
    for (const char *word = name; *word;) {
        size_t length = strcspn(word, "_");
        if (is_wrong_unit(word, length) || (word != name && is_abbreviation(word, length)))
            return true;
        word += length + (word[length] == '_');
    }
    return false;
}

static bool has_type(const char *name)
{
    static const char *const types[] = {"_counter", "_gauge", "_summary", "_untyped", "_histogram"};
    for (size_t i = 0; i < COUNT(types); i++)
        if (strstr(name, types[i]))
            return true;
    return false;
}

static int check_name(const char *name, enum weir__metrics_type type)
{
    if (!name || !is_name(name))
        return weir__fail(WEIR_E_INVALID, name,
                          "metric '$n': a name has lower case letters, digits and '_', at most $1 "
                          "bytes, and begins with a letter",
                          WEIR_METRICS_NAME_MAX - 1, 0, 0);
    if (weir__metrics_is_core(name))
        return weir__fail(WEIR_E_INVALID, name, "metric '$n': core exports this name itself", 0, 0,
                          0);
    if (ends_in(name, "_total") != (type == WEIR__METRICS_COUNTER))
        return weir__fail(WEIR_E_INVALID, name,
                          "metric '$n': the names of counters, and no others, end in '_total'", 0,
                          0, 0);
    if (ends_in(name, "_bucket") || ends_in(name, "_sum") || ends_in(name, "_count"))
        return weir__fail(WEIR_E_INVALID, name,
                          "metric '$n': '_bucket', '_sum' and '_count' belong to histograms", 0, 0,
                          0);
    if (has_wrong_unit(name))
        return weir__fail(WEIR_E_INVALID, name,
                          "metric '$n': use the base unit, written out: seconds or bytes", 0, 0, 0);
    if (has_type(name))
        return weir__fail(WEIR_E_INVALID, name, "metric '$n': leave the type out of the name", 0, 0,
                          0);
    return 0;
}

static int check_label(const char *name, const struct weir_metrics_label *labels, size_t at)
{
    const struct weir_metrics_label *label = &labels[at];
    if (!label->name || !is_name(label->name) || strcmp(label->name, "le") == 0 ||
        strcmp(label->name, "quantile") == 0)
        return weir__fail(WEIR_E_INVALID, name,
                          "metric '$n': the name of label $1 must have lower case letters, digits "
                          "and '_', and be neither 'le' nor 'quantile'",
                          at + 1, 0, 0);
    for (size_t i = 0; i < at; i++)
        if (strcmp(labels[i].name, label->name) == 0)
            return weir__fail(WEIR_E_INVALID, name,
                              "metric '$n': labels $1 and $2 have the same name", i + 1, at + 1, 0);
    if (!label->value || strnlen(label->value, WEIR_METRICS_VALUE_MAX) == WEIR_METRICS_VALUE_MAX ||
        !is_utf8(label->value))
        return weir__fail(WEIR_E_INVALID, name,
                          "metric '$n': the value of label $1 must be UTF-8 of at most $2 bytes",
                          at + 1, WEIR_METRICS_VALUE_MAX - 1, 0);
    return 0;
}

int weir__metrics_check(const struct weir_metrics_series *series, enum weir__metrics_type type)
{
    int error = check_name(series->name, type);
    if (error)
        return error;
    if (!series->help || !series->help[strspn(series->help, " \t\r\n")] ||
        strnlen(series->help, WEIR_METRICS_HELP_MAX) == WEIR_METRICS_HELP_MAX ||
        !is_utf8(series->help))
        return weir__fail(WEIR_E_INVALID, series->name,
                          "metric '$n': a help text is needed, UTF-8 of 1 to $1 bytes",
                          WEIR_METRICS_HELP_MAX - 1, 0, 0);
    if (series->label_count > WEIR_METRICS_LABELS_MAX)
        return weir__fail(WEIR_E_INVALID, series->name,
                          "metric '$n': $1 labels given, there may be $2", series->label_count,
                          WEIR_METRICS_LABELS_MAX, 0);
    for (size_t i = 0; i < series->label_count; i++) {
        error = check_label(series->name, series->labels, i);
        if (error)
            return error;
    }
    return 0;
}
