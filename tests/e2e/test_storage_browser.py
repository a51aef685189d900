#!/usr/bin/env python3
"""A browser in front of the storage: what somebody has stored never runs as a page, whatever it is,
and pages of others cannot use the service: not to write, not to delete, not to read, and not under a
name of theirs that leads here. For each there is a case that does run, so that a browser which does
nothing at all would be noticed. Needs chromium; skipped without. Prints TAP.
"""
import html
import http.server
import os
import shutil
import subprocess
import sys
import threading
import urllib.parse

sys.dont_write_bytecode = True
from storage_lib import (HANG_S, Storage, address, finish, has, make_folder, path, same, true)  # noqa: E402

BROWSER = next((found for found in map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser",
                                                       "google-chrome")) if found), None)
if not BROWSER:
    print("1..0 # SKIP there is no chromium")
    raise SystemExit(0)


# --- somebody else's site ---

class Site(http.server.ThreadingHTTPServer):
    """Serves pages that are given, and remembers what was asked for."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages, self.asked = {}, []
        self.told, self.has_told = "", threading.Event()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path.startswith("/told?"):
            self.server.told = urllib.parse.unquote(self.path.partition("?")[2])
            self.server.has_told.set()
        if self.path == "/wait":  # a picture: the page is not whole before it has told
            self.server.has_told.wait(HANG_S)
        headers, body = self.server.pages.get(self.path, ([], b""))
        self.send_response(200 if self.path in self.server.pages else 404)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


site = Site()
storage = Storage(data=path("data"))
count = 0


def browse(url, *words, budget=("--virtual-time-budget=10000",)):
    """The page as it is in the end, as text."""
    global count
    count += 1
    home = make_folder(f"home-{count}")
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
         f"--user-data-dir={home}", "--timeout=60000", *budget, *words, "--dump-dom", url],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=home, timeout=2 * HANG_S,
        env={**os.environ, "HOME": home}, check=False)
    return html.unescape(done.stdout.decode(errors="replace"))


def beacon(name):
    return f"<html><body><p>hello</p><script>fetch('{site.url}/ran-{name}', {{mode: 'no-cors'}});document.title='ran'</script></body></html>".encode()


def ran(name):
    return f"/ran-{name}" in site.asked


def keep(content):
    answer = storage.ask("POST", "/o", content)
    assert answer.status in (200, 201), answer
    return answer.json["address"]


def file_of(content):
    """A file of one chunk, put by the client of the service."""
    name = path("page.html")
    with open(name, "wb") as file:
        file.write(content)
    done = subprocess.run([os.environ["WEIR"], "put", "-q", "--server", storage.url, name], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().split()[0]


# --- a page that was stored ---

site.pages["/plain"] = ([("Content-Type", "text/html")], beacon("plain"))
browse(site.url + "/plain")
true("a page of a site runs its script", ran("plain"), site.asked)

as_file = file_of(beacon("file"))
shown = browse(f"{storage.url}/f/{as_file}")
true("a file that is a page is not run", not ran("file") and "hello" not in shown, shown)
as_chunk = keep(beacon("chunk"))
shown = browse(f"{storage.url}/o/{as_chunk}")
true("nor is a chunk", not ran("chunk"), shown)
as_picture = keep(b'<svg xmlns="http://www.w3.org/2000/svg"><script>fetch("' + site.url.encode() + b'/ran-svg")</script></svg>')
browse(f"{storage.url}/o/{as_picture}")
true("nor a picture with a script", not ran("svg"))

# The policy by itself: a proxy that calls everything a page, and forgets all other fields.
answer = storage.get(f"/f/{as_file}")
policy = answer["Content-Security-Policy"]
site.pages["/mangled"] = ([("Content-Type", "text/html"), ("Content-Security-Policy", policy)], answer.body)
site.pages["/stripped"] = ([("Content-Type", "text/html")], answer.body)
has("under its policy it is shown", browse(site.url + "/mangled"), "hello")
true("and does not run, even as a page", not ran("file"))
browse(site.url + "/stripped")
true("which without the policy it does", ran("file"))

# Framed, and as a script, from the page of somebody else.
script = keep(f"fetch('{site.url}/ran-script', {{mode: 'no-cors'}})".encode())
site.pages["/good.js"] = ([("Content-Type", "text/javascript")], f"fetch('{site.url}/ran-good', {{mode: 'no-cors'}})".encode())
framed = file_of(beacon("framed"))
site.pages["/frames"] = ([("Content-Type", "text/html")], f"""<body>
<iframe src="{storage.url}/f/{framed}"></iframe><iframe src="{storage.url}/o/{keep(beacon('inner'))}"></iframe>
<script src="{storage.url}/o/{script}"></script><script src="/good.js"></script></body>""".encode())
browse(site.url + "/frames")
true("a script of the page's own site runs", ran("good"), site.asked)
true("a chunk does not run as a script", not ran("script"))
true("nor in a frame", not ran("framed") and not ran("inner"))

# --- a page that would use the service ---

token = subprocess.run([os.environ["WEIR"], "token", "mint", "--data", path("data"), "--scope", "delete"],
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode().strip()
secret = keep(b"of somebody else")
wanted = {name: address(name.encode()) for name in ("put", "post", "plainpost")}
SCRIPT = """<body><img src=/wait><script>
const said = [];
async function tries(name, url, options, shows) {
  try { const answer = await fetch(url, options);
        said.push(name + '=' + (answer.type == 'opaque' ? 'opaque' : answer.status + (shows ? await answer.text() : ''))); }
  catch (problem) { said.push(name + '=blocked'); }
}
(async () => {
  const base = '%(base)s';
  await tries('put', base + '/o/%(put)s', {method: 'PUT', body: 'put'});
  await tries('post', base + '/o', {method: 'POST', body: 'post', headers: {'Content-Type': 'application/octet-stream'}});
  await tries('plainpost', base + '/o', {method: 'POST', body: 'plainpost', mode: 'no-cors'});
  await tries('delete', base + '/o/%(secret)s', {method: 'DELETE', headers: {'Authorization': 'Bearer %(token)s'}});
  await tries('read', base + '/o/%(secret)s', {}, true);
  await tries('own', '/own', {}, true);
  said.push('done');
  await fetch('/told?' + encodeURIComponent(said.join(';')));
})();
</script></body>"""


def use_from(where, *words):
    site.pages["/own"] = ([("Content-Type", "text/plain")], b"mine")
    site.pages["/use"] = ([("Content-Type", "text/html")], (SCRIPT % {
        "base": storage.url, "secret": secret, "token": token, **wanted}).encode())
    site.has_told.clear()
    site.told = ""
    browse(where + "/use", *words, budget=())
    return dict(part.partition("=")[::2] for part in site.told.split(";"))


said = use_from(site.url)
true("the page of another site asks for all of it", "done" in said and said.get("own") == "200mine", said)
same("it cannot put, nor post", (said.get("put"), said.get("post")), ("blocked", "blocked"))
same("nor delete, even with a token", said.get("delete"), "blocked")
same("nor read what is there", said.get("read"), "blocked")
same("nothing of it was stored", [storage.get("/o/" + one).status for one in wanted.values()], [404] * 3)
same("nothing was deleted", storage.get("/o/" + secret).body, b"of somebody else")
true("it was refused, and counted", storage.metrics()['access_denied_total{reason="cross_site"}'] >= 2)

# --- a name of theirs that leads here ---

LED = "--host-resolver-rules=MAP evil.example 127.0.0.1"
has("a name that is not ours is refused", browse(f"http://evil.example:{storage.port}/o/{secret}", LED), "does not go by that name")
same("under our own it is given", b"of somebody else" in storage.get("/o/" + secret).body, True)
true("which a browser sees, too", "ran" not in browse(f"http://127.0.0.1:{storage.port}/healthz") and
     "alive" in browse(f"http://localhost:{storage.port}/healthz"))

# --- a page that may ---

same("the end of the first", storage.stop(), 0)
storage = Storage("--set", f"server.origins={site.url}", data=path("data"))
said = use_from(site.url)
print(f"# a site that is among server.origins: {said}")
same("a site that was let in can post", storage.get("/o/" + wanted["plainpost"]).status, 200)
same("and put", (said.get("put"), said.get("post")), ("201", "201"))
same("and delete with a token", (said.get("delete"), storage.get("/o/" + secret).status), ("204", 404))
has("and read what it is told", said.get("read"), "^404.*NotFound")
keep(b"of somebody else")
same("and what is there", use_from(site.url).get("put"), "200")
same("the end", storage.stop(), 0)
finish()
