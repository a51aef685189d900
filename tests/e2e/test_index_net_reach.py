#!/usr/bin/env python3
"""Providers come from strangers: the node that measures them connects to nothing private unless told to."""
import socket
import threading

from index_net import Fake, Keys, Network, Node, Reply, can_make_networks, ip
from storage_lib import address, finish, same, tap, true, until

keys = Keys()


class Ear:
    """Listens and counts who comes."""

    def __init__(self, host, family=socket.AF_INET):
        self.end = socket.socket(family, socket.SOCK_STREAM)
        self.end.bind((host, 0))
        self.end.listen(64)
        self.port = self.end.getsockname()[1]
        self.came = 0
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            other, _ = self.end.accept()
            self.came += 1
            other.close()


PRIVATE = ["127.0.0.1", "127.9.9.9", "10.77.0.1", "169.254.7.7", "172.16.7.7", "192.168.7.7", "100.64.7.7"]
is_alone = can_make_networks()
if is_alone:
    # Its own network, in which it has all of these addresses: whoever connects is heard.
    network = Network()
    for one in PRIVATE[2:]:
        ip("addr", "add", one + "/32", "dev", "lo")
    ip("addr", "add", "fd00::7/128", "dev", "lo", "nodad")
else:
    tap.skip("networks beyond the loopback", "this needs root, for a network namespace")
    PRIVATE = PRIVATE[:2]

ears = {host: Ear(host) for host in PRIVATE}
urls = {f"http://{host}:{ear.port}/": ear for host, ear in ears.items()}
loop = ears["127.0.0.1"]
six = Ear("::1", socket.AF_INET6)
urls[f"http://[::1]:{six.port}/"] = six
urls[f"http://[::ffff:127.0.0.1]:{loop.port}/"] = loop
urls[f"http://localhost:{loop.port}/"] = loop
if is_alone:
    unique = Ear("fd00::7", socket.AF_INET6)
    urls[f"http://[fd00::7]:{unique.port}/"] = unique
all_ears = {id(ear): ear for ear in urls.values()}.values()


def tell_all(node):
    """A thing for each provider, so that each one is worth measuring; how many were taken."""
    taken = 0
    for number, url in enumerate(urls):
        thing = address(f"thing of {url}".encode())
        answer = node.publish("/providers/" + thing, keys.provided(thing, number, 1, url))
        taken += answer.status == 201
        node.get("/providers/" + thing)
    return taken


node = Node()
taken = tell_all(node)
print(f"# {taken} of {len(urls)} private addresses are taken as those of providers")
until(lambda: node.number("index_probes_failed_total") >= taken, "that all of them were refused")
same("none of them was connected to", [ear.end.getsockname()[0] for ear in all_ears if ear.came], [])
same("nor counted as measured", node.number("index_probes_total"), 0)
same("it ends well", node.stop(), 0)

# --- a redirect leads nowhere ---
hidden = Ear("127.0.0.1")


class Redirect(Fake):
    async def answer(self, head, reader, writer):
        self.asked.append(head.split(b" ", 2)[1].decode())
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n" % hidden.port)
        await writer.drain()


turn = Redirect(lambda path: Reply())
node = Node("providers.networks=127.0.0.0/8")
thing = address(b"turned")
node.publish("/providers/" + thing, keys.provided(thing, 1, 1, turn.url))
node.get("/providers/" + thing)
until(lambda: turn.asked, "the probe")
until(lambda: node.number("index_probes_total") + node.number("index_probes_failed_total") >= 1, "its end")
same("what a provider redirects to is not asked", hidden.came, 0)
same("it was asked for its health", turn.asked, ["/healthz"])
same("it ends well", node.stop(), 0)

# --- where it is allowed ---
node = Node("providers.networks=127.0.0.1/32")
tell_all(node)
until(lambda: loop.came >= 1, "a connection to what is allowed")
true("what providers.networks names is connected to", True)
until(lambda: node.number("index_probes_failed_total") + node.number("index_probes_total") >= len(urls) - 2,
      "the others")
same("and nothing else", [ear.end.getsockname()[0] for ear in all_ears if ear.came and ear is not loop], [])
same("it ends well", node.stop(), 0)
finish()
