/* cmd_devices.c - weir devices: which disk a path leans on, and how many slots that disk has. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <weir/slots.h>

#include "commands.h"
#include "cover.h"
#include "log.h"
#include "print_json.h"

#include "banned.h"

COMMAND(devices);

/* Of one element: an argument has at most 2 MiB (where pages are the largest), and a byte of it at
 * most six in JSON. */
#define ELEMENT_MAX (16u << 20)

/* Of a path in a message. */
#define PATH_SHOWN_MAX 200

struct values {
    bool json;
};

static const struct weir__option options[] = {
    {WEIR__OPTION_FLAG(struct values, json), .name = "json", .help = "print a JSON array",
     .detail =
         "Each element has the keys path, filesystem, device, raw, kind, slots and disks; one "
         "for a path that cannot be looked at has path, error and message."},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "PATH", .hint = WEIR__HINT_FILE, .help = "a path on the device; '.' without any"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir devices", "show the disk below the current directory"},
    {"weir devices /home /var/lib", "see whether two places share a disk"},
    {"weir devices --json / | jq '.[0].slots'", "how many jobs may run on the disk of the root"},
    {NULL, NULL},
};

const struct weir__usage usage_devices = {
    .description =
        "Shows for each path the disk that jobs there are admitted by, its kind, and how many may "
        "run on it at once unless the configuration says otherwise.\n\n"
        "A file system is followed through partitions, device-mapper, md, loop files and overlays "
        "down to the disks below. What lies on several disks counts as one of them: the one whose "
        "kind has the fewest slots, the lowest number among equals. A file system without a disk "
        "of this machine (memory, network) stands for itself.",
    .examples = examples,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct values),
};

#define NUMBER_MAX 24

#define HEAD       "%-10s  %-7s  %-10s  %5s  %-8s  %s\n"
#define ROW        "%-10s  %-7s  %-10s  %5llu  %-8s  "

static void print_number(char text[NUMBER_MAX], uint64_t number)
{
    snprintf(text, NUMBER_MAX, "%u:%u", major(number), minor(number));
}

static uint32_t listed(const struct weir_device_info *info)
{
    return info->disks_count < WEIR_DEVICE_DISKS_MAX ? info->disks_count : WEIR_DEVICE_DISKS_MAX;
}

/* "sda,sdb": names as far as they are listed, then how many more there are. */
static void print_disks(char *text, size_t size, const struct weir_device_info *info)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < listed(info) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "," : "",
                                 info->disks[i].name[0] ? info->disks[i].name : "-");
    if (listed(info) < info->disks_count && used < size)
        snprintf(text + used, size - used, ",+%u", info->disks_count - listed(info));
}

static void print_head(const struct weir__call *call)
{
    weir__out_printf(call->out, HEAD, "FILESYSTEM", "DEVICE", "KIND", "SLOTS", "DISKS", "PATH");
}

static void print_row(const struct weir__call *call, const char *path,
                      const struct weir_device_info *info)
{
    char filesystem[NUMBER_MAX], device[NUMBER_MAX];
    char disks[WEIR_DEVICE_DISKS_MAX * (WEIR_DEVICE_NAME_MAX + 1) + NUMBER_MAX];
    enum weir_disk kind = weir_device_kind(info->device);
    print_number(filesystem, info->number);
    print_number(device, weir_device_raw(info->device));
    print_disks(disks, sizeof(disks), info);
    weir__out_printf(call->out, ROW, filesystem, device, weir_disk_name(kind),
                     (unsigned long long)weir_disk_slots(kind), disks);
    weir__out_escaped(call->out, path);
    weir__out_puts(call->out, "\n");
}

static void add_text(struct weir__json *json, const char *key, const char *text)
{
    weir__json_key(json, key);
    weir__json_string(json, text);
}

static void add_number(struct weir__json *json, const char *key, uint64_t number)
{
    char text[NUMBER_MAX];
    print_number(text, number);
    add_text(json, key, text);
}

static void add_info(struct weir__json *json, const char *path, const struct weir_device_info *info)
{
    enum weir_disk kind = weir_device_kind(info->device);
    weir__json_object(json);
    add_text(json, "path", path);
    add_number(json, "filesystem", info->number);
    add_number(json, "device", weir_device_raw(info->device));
    weir__json_key(json, "raw");
    weir__json_u64(json, weir_device_raw(info->device));
    add_text(json, "kind", weir_disk_name(kind));
    weir__json_key(json, "slots");
    weir__json_u64(json, weir_disk_slots(kind));
    weir__json_key(json, "disks");
    weir__json_array(json);
    for (uint32_t i = 0; i < listed(info); i++) {
        weir__json_object(json);
        add_text(json, "name", info->disks[i].name);
        add_number(json, "device", info->disks[i].number);
        add_text(json, "kind", weir_disk_name(info->disks[i].kind));
        weir__json_end(json);
    }
    weir__json_end(json);
    weir__json_end(json);
}

/* The detail of the last failure without its object, "device of '...': ", since the message has
 * named the whole path. */
static const char *reason_of(int error)
{
    const char *reason = weir_error_detail()[0] ? weir_error_detail() : weir_error_text(error);
    for (const char *next; (next = strstr(reason, "': "));)
        reason = next + 3;
    return reason;
}

static void add_error(struct weir__json *json, const char *path, int error)
{
    char shown[PATH_MAX], message[PATH_MAX + 128];
    weir__cover_clip(shown, sizeof(shown), path, SIZE_MAX);
    snprintf(message, sizeof(message), "device of '%s': %s", shown, reason_of(error));
    weir__json_object(json);
    add_text(json, "path", shown);
    add_text(json, "error", weir_error_name(error));
    add_text(json, "message", message);
    weir__json_end(json);
}

static void log_error(const char *path, int error)
{
    char shown[PATH_SHOWN_MAX + sizeof("...")];
    weir__cover_clip(shown, sizeof(shown), path, SIZE_MAX);
    weir__log(WEIR__LOG_ERROR, "cannot look at '%s': %s", shown, reason_of(error));
}

/* Every path; those that cannot be looked at are reported and the rest goes on. */
static int show_text(const struct weir__call *call, char **paths)
{
    int result = 0;
    bool has_head = false;
    for (; *paths && !weir__out_is_done(call->out); paths++) {
        struct weir_device_info info;
        int error = weir_device_find(*paths, NULL, &info);
        if (error) {
            log_error(*paths, error);
            result = -WEIR_E_INCOMPLETE;
            continue;
        }
        if (!has_head)
            print_head(call);
        has_head = true;
        print_row(call, *paths, &info);
    }
    return result;
}

/* Takes what the writer has made so far, so that the buffer never holds more than one element. */
static void print_buffer(const struct weir__call *call, struct weir__buffer *buffer)
{
    weir__out_write(call->out, weir__buffer_text(buffer), weir__buffer_length(buffer));
    weir__buffer_truncate(buffer, 0);
}

static int show_json(const struct weir__call *call, char **paths)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, ELEMENT_MAX);
    struct weir__json json;
    weir__json_init(&json, &buffer);
    weir__json_array(&json);
    int result = 0;
    for (; *paths && !weir__out_is_done(call->out); paths++) {
        struct weir_device_info info;
        int error = weir_device_find(*paths, NULL, &info);
        if (error) {
            add_error(&json, *paths, error);
            log_error(*paths, error);
            result = -WEIR_E_INCOMPLETE;
        } else {
            add_info(&json, *paths, &info);
        }
        print_buffer(call, &buffer);
    }
    weir__json_end(&json);
    int error = weir__print_json(call->out, &json, &buffer);
    return error < 0 ? error : result;
}

int cmd_devices(const struct weir__call *call)
{
    const struct values *values = call->values;
    char dot[] = ".";
    char *here[] = {dot, NULL};
    char **paths = call->operands_count > 0 ? call->operands : here;
    return values->json ? show_json(call, paths) : show_text(call, paths);
}
