/* cmd_storage.c - weir storage: the service of chunks. */
#include <stdio.h>

#include <weir/error.h>

#include "commands.h"
#include "serve_command.h"
#include "storage.h"
#include "storage_config.h"
#include "store_end.h"

#include "banned.h"

COMMAND(storage);

static const struct weir__option options[] = {
    WEIR__SERVE_OPTIONS(
        "keep everything in this folder",
        "It is made if it is not there. Without this and the key 'data': the folder "
        "weir/storage of $XDG_DATA_HOME (~/.local/share), and for root "
        "/var/lib/weir/storage.",
        "listen there; 127.0.0.1:8470 without it",
        "let others read and write without tokens and TLS"),
    WEIR__OPTIONS_END,
};

static const struct weir__example examples[] = {
    {"weir storage", "serve on 127.0.0.1:8470, from the default folder"},
    {"weir storage --data /srv/chunks --listen unix:/run/weir.sock", "on a socket of this machine"},
    {"curl -T photo.jpg http://127.0.0.1:8470/o/$(b3sum photo.jpg | sed 's/ .*//;s/^/b3:/')",
     "store a file of up to 1 MiB under its address"},
    {"weir storage --amnesia --set amnesia.max_bytes=1GiB", "a cache that leaves no trace"},
    {NULL, NULL},
};

const struct weir__usage usage_storage = {
    .description =
        "Serves a store of chunks over HTTP. A chunk has at most 1 MiB and is named by the BLAKE3 "
        "of its bytes; what was acknowledged is on the disk. Larger files are put with 'weir put' "
        "and read at /f/ADDRESS.\n\n"
        "    PUT /o/ADDRESS      store bytes that have this address\n"
        "    POST /o             store bytes; the answer has their address\n"
        "    GET /o/ADDRESS      read them; ranges and conditions as in HTTP\n"
        "    DELETE /o/ADDRESS   needs a token: see 'weir token'\n"
        "    GET /f/ADDRESS      the file that a manifest stands for\n"
        "    GET /healthz, /readyz, /version, /metrics\n\n"
        "SIGTERM and SIGINT drain: who comes is told so, what is there is finished within "
        "drain_deadline; a second one does not wait for that. SIGHUP reads configuration, keys and "
        "certificates anew. The exit status is 0 after a clean end, 2 when the configuration is "
        "wrong, 3 when something had to be aborted.",
    .examples = examples,
    .options = options,
    .values_size = sizeof(struct weir__serve_values),
    .is_service = true,
};

static bool lacks_folder(const struct weir__config *config)
{
    const struct weir__storage_config *own = weir__config_values(config, &weir__storage_table);
    return !(own->data && own->data[0]) && !own->amnesia.is_enabled;
}

_Static_assert(WEIR__STORAGE_HANGS_NS == 10 * WEIR_NS_PER_S, "the text below has this number");

static const char *hangs(struct weir__daemon *daemon)
{
    return weir__storage_disk_hangs(daemon)
               ? "a write takes more than 10 s: the disk with the data does not answer; nothing "
                 "is written until it does, and /readyz is 503"
               : NULL;
}

static const struct weir__serve serve = {
    .service = &weir__storage_service,
    .lacks_folder = lacks_folder,
    .default_folder = weir__data_default,
    .hangs = hangs,
    .left = "damaged chunks were not repaired, and the next start does not know of them: "
            "see the lines above, and put them again",
    .tell_closed = weir__store_end_tell,
};

int cmd_storage(const struct weir__call *call)
{
    return weir__serve(call, &serve);
}
