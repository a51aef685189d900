#!/usr/bin/env python3
"""Pins: as many as are acknowledged are there after a restart, and none that was refused. Prints TAP."""
import collections
import json
import sys
import threading

sys.dont_write_bytecode = True
from index_service import Index
from storage_lib import bearer, exchange, finish, make_folder, mint, same, until

PINS = 4096
HANDS = 16


def address(number):
    return f"b3:{number + 1:064x}"


def ask(connection, token, what, number):
    return exchange(connection, "POST", "/admin/" + what, json.dumps({"key": address(number)}), bearer(token))


def ask_many(index, token, what, numbers):
    """By many at once; how many had which status and error."""
    told, lock, left = collections.Counter(), threading.Lock(), iter(numbers)

    def work():
        connection = index.connect()
        while True:
            with lock:
                number = next(left, None)
            if number is None:
                break
            answer = ask(connection, token, what, number)
            with lock:
                told[answer.status if answer.status == 200 else (answer.status, answer.json["error"])] += 1
        connection.close()

    hands = [threading.Thread(target=work) for _ in range(HANDS)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join()
    return dict(told)


def count(index):
    numbers = index.metrics()
    return numbers['index_records{kind="pins"}'], numbers["index_cache_pinned"]


data = make_folder("pins")
index = Index(data=data)
token = mint(data, "--scope", "admin")
same("4096 keys can be pinned", ask_many(index, token, "pin", range(PINS)), {200: PINS})
until(lambda: count(index) == (PINS, PINS), "the pins")

# --- and not one more, however many ask at once ---
same("one more is refused", ask_many(index, token, "pin", range(PINS, PINS + 40)), {(429, "Overflow"): 40})
same("and not stored", count(index), (PINS, PINS))
same("one that is there is not one more", ask_many(index, token, "pin", range(40)), {200: 40})
same("two places", ask_many(index, token, "unpin", [0, 1]), {200: 2})
same("are for two", ask_many(index, token, "pin", range(PINS, PINS + 40)), {200: 2, (429, "Overflow"): 38})
until(lambda: count(index) == (PINS, PINS), "the pins")
same("it ends", index.stop(), 0)

# --- it lasts ---
index = Index(data=data)
same("and all are there after a restart", count(index), (PINS, PINS))
same("of which nothing is told", "pinned" in index.log(), False)
same("it ends again", index.stop(), 0)
finish()
