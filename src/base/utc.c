/* utc.c - the calendar, by the days of its years. */
#include "utc.h"

#include <stdio.h>

#include <weir/error.h>

#include "banned.h"

#define DAY_S 86400

static const char form[] = "dddd-dd-ddTdd:dd:ddZ";

static bool is_leap(unsigned year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static unsigned month_days(unsigned year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year) ? 1u : 0u);
}

/* Days from the beginning of 1970 to that of the year. */
static int64_t days_before(unsigned year)
{
    unsigned last = year - 1;
    return (int64_t)365 * (year - 1970) + (last / 4 - last / 100 + last / 400) -
           (1969 / 4 - 1969 / 100 + 1969 / 400);
}

static unsigned digits(const char *text, size_t count)
{
    unsigned value = 0;
    for (size_t i = 0; i < count; i++)
        value = value * 10 + (unsigned)(text[i] - '0');
    return value;
}

int weir__utc_parse(int64_t *ret_seconds, const char *text, size_t length)
{
    if (length != sizeof(form) - 1)
        return -WEIR_E_INVALID;
    for (size_t i = 0; i < length; i++)
        if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return -WEIR_E_INVALID;
    unsigned year = digits(text, 4), month = digits(text + 5, 2), day = digits(text + 8, 2);
    unsigned hour = digits(text + 11, 2), minute = digits(text + 14, 2);
    unsigned second = digits(text + 17, 2);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > month_days(year, month) ||
        hour > 23 || minute > 59 || second > 59)
        return -WEIR_E_INVALID;
    int64_t days = days_before(year) + day - 1;
    for (unsigned i = 1; i < month; i++)
        days += month_days(year, i);
    *ret_seconds = days * DAY_S + hour * 3600 + minute * 60 + second;
    return 0;
}

const char *weir__utc_format(char text[WEIR__UTC_SIZE], int64_t seconds)
{
    seconds = seconds < 0 ? 0 : seconds > WEIR__UTC_MAX ? WEIR__UTC_MAX : seconds;
    int64_t days = seconds / DAY_S;
    unsigned rest = (unsigned)(seconds % DAY_S), year = 1970 + (unsigned)(days / 366), month = 1;
    while (days_before(year + 1) <= days)
        year++;
    days -= days_before(year);
    while (days >= month_days(year, month))
        days -= month_days(year, month++);
    snprintf(text, WEIR__UTC_SIZE, "%04u-%02u-%02uT%02u:%02u:%02uZ", year % 10000, month % 100,
             (unsigned)(days + 1) % 100, rest / 3600 % 100, rest / 60 % 60, rest % 60);
    return text;
}
