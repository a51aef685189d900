"""Made-up tokens. Nothing in this file looks like one: they are put together when they are planted."""
import string
import zlib

from lib.sources import LETTERS


def with_checksum(prefix, dice):
    """As GitHub and npm make theirs: 30 characters and, behind them, their CRC-32."""
    body = dice.text(30)
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, len(LETTERS))
        digits = LETTERS[digit] + digits
    return prefix + body + digits


KINDS = [
    lambda dice: with_checksum("ghp" + "_", dice),
    lambda dice: with_checksum("npm" + "_", dice),
    lambda dice: "glpat" + "-" + dice.text(20),
    lambda dice: "-".join(("xoxb", dice.text(12, string.digits[1:]),
                           dice.text(13, string.digits[1:]), dice.text(24))),
    lambda dice: "sk" + "_live_" + dice.text(24),
    lambda dice: ".".join(("SG", dice.text(22), dice.text(43))),
    lambda dice: "AK" + "IA" + dice.text(16, string.ascii_uppercase + "234567"),
]
