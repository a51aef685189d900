#!/usr/bin/env python3
"""weir index: files of the configuration that are none are noticed at the start and at a reload, not
when a source is first asked; and reloads by a request. Prints TAP."""
import os
import sys
import threading

sys.dont_write_bytecode = True
from index_service import Index, Keys, refused
from storage_lib import (bearer, finish, has, is_envelope, make_file, make_folder, mint, path, run, same, tap,
                         true)

status, _, err = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-days", "2", "-subj", "/CN=localhost", "-keyout", path("key"), "-out", path("ca.pem"))
assert status == 0, err
with open(path("ca.pem"), encoding="ascii") as file:
    good = file.read()

# --- certificates that are trusted of others ---
make_file("none.pem", "none\n")
make_file("empty.pem", "")
make_file("cut.pem", good[:len(good) // 2])
make_file("shut.pem", good)
os.chmod(path("shut.pem"), 0)
node = {"siblings": "siblings.nodes=https://127.0.0.1:9", "etcd": "etcd.endpoints=https://127.0.0.1:9"}
for which, url in node.items():
    key = which + ".ca_file"
    for name, reason in (("gone.pem", "there is no such file"), ("none.pem", "no certificate as PEM is in it"),
                         ("empty.pem", "no certificate as PEM is in it"), ("key", "no certificate as PEM is in it"),
                         ("cut.pem", "it is damaged"), ("folder", "it is a directory"),
                         ("shut.pem", "it may not be read")):
        make_folder("folder")
        if name == "shut.pem" and os.getuid() == 0:
            tap.skip(f"{key}: {reason}", "root may read everything")
            continue
        result, said = refused(url, f"{key}={path(name)}", data=path("data"))
        same(f"{key}: with {name} it does not start", (result, said.count("\n")), (2, 1))
        has("and says why of which", said, f"{key}: cannot use the certificate '{path(name)}': {reason}")
        same("nothing was begun", os.path.exists(path("data")), False)
    same("also where nobody is asked", refused(f"{key}={path('gone.pem')}")[0], 2)
    index = Index(url, f"{key}={path('ca.pem')}")
    make_file("ca.pem", "none\n")
    has("at a reload all stays as it was", index.reload(),
        f"stays as it was: {key}: cannot use the certificate '.*ca.pem': no certificate")
    same("and it serves on", index.get("/names").status, 200)
    make_file("ca.pem", good)
    has("with a certificate in it, it is reloaded", index.reload(), "reloaded: 0 keys")
    same("the end", index.stop(), 0)

# --- what the next start would find wanting, also where only a restart takes it over ---
make_file("token", "\n")
for title, text, reason in (
        ("tls.cert", f'[tls]\ncert = "{path("gone.pem")}"\nkey = "{path("key")}"\n', "cannot use the certificate '.*gone.pem': .*tls.cert"),
        ("tls.key", f'[tls]\ncert = "{path("ca.pem")}"\nkey = "{path("gone")}"\n', "cannot use the private key '.*gone': .*tls.key"),
        ("tokens.keys", f'[tokens]\nkeys = "{path("gone")}"\n', "tokens.keys: '.*gone': there is no such folder"),
        ("siblings.ca_file", f'[siblings]\nnodes = ["http://127.0.0.1:9"]\nca_file = "{path("none.pem")}"\n',
         "siblings.ca_file: cannot use the certificate"),
        ("siblings.token_file", f'[siblings]\nnodes = ["http://127.0.0.1:9"]\ntoken_file = "{path("gone")}"\n',
         "siblings.token_file: cannot read '.*gone': no such file"),
        ("a token_file without a token", f'[siblings]\nnodes = ["http://127.0.0.1:9"]\ntoken_file = "{path("token")}"\n',
         "siblings.token_file: there is no token in '.*token'"),
        ("audit.file", f'[audit]\nenabled = true\nfile = "{path("gone/audit")}"\n', "audit.file: cannot open '.*gone/audit'")):
    config = make_file("start.toml", "")
    index = Index(words=["--config", config])
    make_file("start.toml", '[cache]\nttl = "77s"\n' + text)
    said = index.reload()
    has(f"{title}: a reload leaves all as it was", said, "stays as it was: " + reason)
    same("nothing of it is taken over", "reloaded" in said or "77s" in said, False)
    index.stop()
    status, said = refused(words=["--config", config])
    has("and with it there is no start", f"{status} {said}", "^2 .*(" + reason.replace("tokens.keys: ", "") + ")")
config = make_file("start.toml", "")
index = Index(words=["--config", config])
make_file("start.toml", f'[audit]\nenabled = true\nfile = "{path("audit-then")}"\n')
has("what a start could make is no reason to refuse", index.reload(), "audit.file stays .* until a restart.*reloaded: ")
same("and is not made by the reload", os.path.exists(path("audit-then")), False)
index.stop()

# --- by a request ---
data, config = path("names"), make_file("index.toml", '[cache]\nttl = "10s"\n')
index = Index("audit.enabled=true", f"audit.file={path('audit')}", data=data, words=["--config", config])
keys = Keys()
name = keys.name("photos", 1)
assert index.publish("/names/" + name, keys.of_name("photos", 1, 1)).status == 201
admin = bearer(mint(data, "--scope", "admin"))


def ask(headers=None, body=None):
    return index.ask("POST", "/admin/reload", body, headers)


same("without a token nothing is reloaded", ask().status, 401)
same("nor with one for something else", ask(bearer(mint(data, "--scope", "write"))).status, 403)
same("it is a POST", index.ask("GET", "/admin/reload", headers=admin).status, 405)
same("without a body", ask(admin, "{}").status, 400)
make_file("index.toml", '[cache]\nttl = "100s"\n')
answer = ask(admin)
same("a request reloads as a signal does", (answer.status, answer.json), (200, {"status": "reloaded"}))
same("and is answered when it is in force", index.resolve(name)["Cache-Control"], "public, max-age=99")
has("it is told as ever", index.log(), r"cache.ttl is \S*(100s|1m40s).*reloaded: 1 keys")
make_file("index.toml", '[cache]\nttl = "nonsense"\n')
answer = ask(admin)
true("what is wrong is refused", answer.status == 422 and is_envelope(answer, "Invalid"), answer)
has("with the reason", answer.json["message"], "stays as it was: .*cache.ttl.*nonsense")
same("and all stays as it was", index.publish("/names/" + name, keys.of_name("photos", 1, 2)).status, 200)
same("with the time of before", index.resolve(name)["Cache-Control"], "public, max-age=99")
make_file("index.toml", "")
os.rename(os.path.join(data, "keys"), path("away"))
answer = ask(admin)
has("so are keys that are gone", f"{answer.status} {answer.json['message']}", "^422 .*there is no such folder")
os.rename(path("away"), os.path.join(data, "keys"))
answers = []
threads = [threading.Thread(target=lambda: answers.append(ask(admin).status)) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
same("several at once are all told", answers, [200] * 8)
same("a signal is heard as before", "reloaded: " in index.reload(), True)
same("which is counted with administration", index.metrics()['request_duration_seconds_count{route="admin"}'] >= 11, True)
same("a clean end", index.stop(), 0)
with open(path("audit"), encoding="utf-8") as file:
    has("and is written down", file.read(), '"admin"[^\n]*"reload"')
finish()
