#!/usr/bin/env python3
"""Starts of the storage: what is wrong with the configuration ends it with 2, so that nobody tries
again, and in a line that says what helps; what is only unwise is told in lines of its own. Prints
TAP.
"""
import os
import shutil
import sys

sys.dont_write_bytecode = True
from storage_lib import (Storage, folder, finish, has, make_file, make_folder, path, refused, run,  # noqa: E402
                         same, tap, true)

data = path("data")
gone = path("gone")

# --- what another start would not help ---


def audit(place):
    return ["--set", "audit.enabled=true", "--set", "audit.file=" + place]



make_file("large.toml", "#" * ((1 << 20) + 1))
make_folder("ring")
for name, words, listen, why in (
        ("keys that are not there", ["--set", "tokens.keys=" + gone], None, "'.*gone': there is no such folder: make one with"),
        ("a folder without keys", ["--set", "tokens.keys=" + path("ring")], None, "there is no key in it: make one with"),
        ("what is no folder", ["--set", "tokens.keys=/dev/null"], None, "'/dev/null': it is not a folder"),
        ("more connections than descriptors", ["--set", "server.max_conns=1000000"], None, "needs 2000000 file descriptors and 1000 are allowed"),
        ("segments in memory without descriptors", ["--amnesia"], None, "too few file descriptors are allowed for segments"),
        ("no configuration", ["--config", gone], None, "cannot be read: no such file"),
        ("one that is too large", ["--config", path("large.toml")], None, "more than 1048576 bytes"),
        ("an audit log in no folder", audit(gone + "/log"), None, "audit.file: cannot open '.*gone/log': no such file"),
        ("one that is a folder", audit(folder), None, "audit.file: cannot open '.*': is a directory"),
        ("a folder that is a file", ["--data", path("large.toml")], None, "cannot open '.*': it is not a folder"),
        ("one below a file", ["--data", path("large.toml/data")], None, "a part of its path is not a folder"),
        ("a socket in no folder", [], "unix:" + gone + "/socket", "cannot listen on 'unix:.*': no such file")):
    limit = 31 if "memory" in name else 1000
    before = ("prlimit", f"--nofile={limit}:{limit}") if "descriptors" in name else ()
    result, said = refused(*words, data=None if "--data" in words else data, listen=(listen or "127.0.0.1:0",), before=before)
    same(f"{name}: it ends with 2, in a line", (result, said.count("\n")), (2, 1))
    has(f"{name}: and says why", said, why)

if os.getuid() == 0 and shutil.which("setpriv"):
    os.chmod(folder, 0o755)
    os.chmod(make_folder("closed"), 0o755)
    result, said = refused(data=path("closed/some/where"),
                           before=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    same("a folder that may not be made", (result, said.count("\n")), (3, 1))
    has("is told as such, with what helps", said, "cannot make the folder '.*': permission denied: make it and give it")
else:
    tap.skip("a folder that may not be made", "no root")

# --- what is unwise ---

status, _, err = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-days", "2", "-subj", "/CN=localhost", "-keyout", path("key"), "-out", path("cert"))
assert status == 0, err
tls = ("--set", "tls.cert=" + path("cert"), "--set", "tls.key=" + path("key"), "--set", "server.max_conns=64")


def warnings():
    storage = Storage(*tls, data=data)
    assert storage.stop() == 0
    return [line for line in storage.log().splitlines() if "warning: " in line]


same("a start that is well says nothing", warnings(), [])
os.chmod(path("key"), 0o640)
same("nor does one whose key a group may read", warnings(), [])
os.chmod(path("key"), 0o644)
os.chmod(data, 0o777)
said = warnings()
same("what everybody can get at is warned of, a line each", len(said), 2)
has("the folder", said[0], "everybody on this machine can write to '.*data': chmod o-w it")
has("and the private key", said[1], "everybody on this machine can read the private key '.*key': chmod o-rwx it, .*replace it")
os.chmod(path("key"), 0o600)
os.chmod(data, 0o700)

storage = Storage(data=data)
assert storage.put(b"some").status == 201 and storage.stop() == 0
segments = [name for name in os.listdir(os.path.join(data, "segments")) if name.endswith(".seg")]
os.remove(os.path.join(data, "segments", segments[0]))
storage = Storage(data=data, before=("prlimit", "--nofile=1000:1000"))
assert storage.stop() == 0
said = [line for line in storage.log().splitlines() if "warning: " in line]
true("what is lost and what is limited are lines of their own",
     any("are gone since it was closed" in line and "connections" not in line for line in said)
     and any("connections at most" in line for line in said), said)
finish()
