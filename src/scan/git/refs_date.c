/* refs_date.c - dates as people write them for --since. */
#include <stdio.h>
#include <time.h>

#include "cover.h"
#include "refs_resolve.h"

#include "banned.h"

/* So many of any unit lie before the first commit of anybody. */
#define AGO_MAX 1000000000

__attribute__((cold)) static int flaw(const char *text, char why[WEIR__GIT_FLAW_MAX])
{
    snprintf(why, WEIR__GIT_FLAW_MAX,
             "'%s' is not a date; write 2024-05-01, '2024-05-01 12:30', '2 weeks ago' or "
             "@1700000000",
             WEIR__TYPED(text));
    return -WEIR_E_INVALID;
}

/* Exactly so many digits, or with 0 any number; moves on behind them. */
static bool take_digits(const char **at, unsigned digits, int64_t *ret_number)
{
    int64_t number = 0;
    unsigned count = 0;
    const char *p = *at;
    for (; *p >= '0' && *p <= '9' && (digits == 0 ? count < 15 : count < digits); p++, count++)
        number = number * 10 + (*p - '0');
    if (count == 0 || (digits && count != digits) || (*p >= '0' && *p <= '9'))
        return false;
    *at = p;
    *ret_number = number;
    return true;
}

static bool take(const char **at, char byte)
{
    if (**at != byte)
        return false;
    ++*at;
    return true;
}

/* --- as in a calendar --- */

/* "+02:00", "-0530", "Z" */
static bool take_zone(const char **at, bool *ret_has_zone, int64_t *ret_seconds)
{
    int64_t hours, minutes = 0;
    while (take(at, ' '))
        ;
    *ret_has_zone = true;
    *ret_seconds = 0;
    if (**at == '\0') {
        *ret_has_zone = false;
        return true;
    }
    if (take(at, 'Z') || take(at, 'z'))
        return **at == '\0';
    bool is_west = **at == '-';
    if (!take(at, '-') && !take(at, '+'))
        return false;
    const char *p = *at;
    if (take_digits(&p, 4, &hours)) {
        minutes = hours % 100;
        hours /= 100;
    } else {
        p = *at;
        if (!take_digits(&p, 2, &hours) || (take(&p, ':') && !take_digits(&p, 2, &minutes)))
            return false;
    }
    *at = p;
    int64_t seconds = (hours * 60 + minutes) * 60;
    *ret_seconds = is_west ? -seconds : seconds;
    return *p == '\0' && hours <= 14 && minutes < 60;
}

static bool take_clock(const char **at, struct tm *tm)
{
    int64_t hour, minute, second = 0, ignored;
    if (!take_digits(at, 2, &hour) || !take(at, ':') || !take_digits(at, 2, &minute))
        return false;
    if (take(at, ':') && !take_digits(at, 2, &second))
        return false;
    if (take(at, '.') && !take_digits(at, 0, &ignored))
        return false;
    tm->tm_hour = (int)hour;
    tm->tm_min = (int)minute;
    tm->tm_sec = (int)second;
    return hour < 24 && minute < 60 && second <= 60;
}

static bool parse_calendar(const char *text, int64_t *ret_time)
{
    int64_t year, month, day, zone = 0;
    bool has_zone = false;
    const char *at = text;
    if (!take_digits(&at, 4, &year) || !take(&at, '-') || !take_digits(&at, 2, &month) ||
        !take(&at, '-') || !take_digits(&at, 2, &day) || month < 1 || month > 12 || day < 1 ||
        day > 31)
        return false;
    struct tm tm = {.tm_year = (int)year - 1900, .tm_mon = (int)month - 1, .tm_mday = (int)day};
    tm.tm_isdst = -1;
    if (*at != '\0') {
        if (!take(&at, 'T') && !take(&at, ' '))
            return false;
        if (!take_clock(&at, &tm) || !take_zone(&at, &has_zone, &zone))
            return false;
    }
    struct tm given = tm;
    int64_t time = has_zone ? (int64_t)timegm(&tm) - zone : (int64_t)mktime(&tm);
    /* A day that its month does not have. */
    if (tm.tm_mon != given.tm_mon || tm.tm_mday != given.tm_mday)
        return false;
    *ret_time = time;
    return true;
}

/* --- before now --- */

struct unit {
    const char *name;
    int seconds, months;
};

static const struct unit units[] = {
    {"second", 1, 0},    {"minute", 60, 0}, {"hour", 3600, 0}, {"day", 86400, 0},
    {"week", 604800, 0}, {"month", 0, 1},   {"year", 0, 12},
};

static bool take_separator(const char **at)
{
    const char *from = *at;
    while (**at == ' ' || **at == '.')
        ++*at;
    return *at > from;
}

static const struct unit *take_unit(const char **at)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t length = strlen(units[i].name);
        if (strncmp(*at, units[i].name, length) != 0)
            continue;
        *at += length;
        take(at, 's');
        return &units[i];
    }
    return NULL;
}

static bool parse_ago(const char *text, int64_t now, int64_t *ret_time)
{
    int64_t number;
    struct tm tm;
    const char *at = text;
    if (!take_digits(&at, 0, &number) || number > AGO_MAX || !take_separator(&at))
        return false;
    const struct unit *unit = take_unit(&at);
    if (!unit || (*at != '\0' && (!take_separator(&at) || strcmp(at, "ago") != 0)))
        return false;
    if (unit->months == 0) {
        *ret_time = now - number * unit->seconds;
        return true;
    }
    time_t then = (time_t)now;
    if (number * unit->months > 12 * 9000 || !localtime_r(&then, &tm))
        return false;
    tm.tm_mon -= (int)(number * unit->months);
    tm.tm_isdst = -1;
    *ret_time = (int64_t)mktime(&tm);
    return true;
}

/* Midnight, so many days ago. */
static bool parse_day(int64_t now, int days, int64_t *ret_time)
{
    struct tm tm;
    time_t then = (time_t)now;
    if (!localtime_r(&then, &tm))
        return false;
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_mday -= days;
    tm.tm_isdst = -1;
    *ret_time = (int64_t)mktime(&tm);
    return true;
}

int weir__git_date_parse(const char *text, int64_t now, int64_t *ret_time,
                         char why[WEIR__GIT_FLAW_MAX])
{
    int64_t time;
    const char *at = text + 1;
    bool is_known = false;
    if (text[0] == '@')
        is_known = take_digits(&at, 0, &time) && *at == '\0';
    else if (strcmp(text, "now") == 0)
        is_known = (time = now, true);
    else if (strcmp(text, "today") == 0)
        is_known = parse_day(now, 0, &time);
    else if (strcmp(text, "yesterday") == 0)
        is_known = parse_day(now, 1, &time);
    else
        is_known = parse_calendar(text, &time) || parse_ago(text, now, &time);
    if (!is_known)
        return flaw(text, why);
    *ret_time = time;
    return 0;
}
