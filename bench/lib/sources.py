"""Source code that Debian packages install, C, C++, Perl, Python and Rust, and dice that fall the same
way every time. Files come in the order of a hash of their paths, which mixes the languages.
"""
import hashlib
import os
import string

from lib.folder import Failed, call
from lib.report import version_of

# All of them come with what script/packages names for building and for the benchmarks.
PACKAGES = (
    "libc6-dev", "libgcc-12-dev", "libglib2.0-dev", "linux-libc-dev",               # C
    "libstdc++-12-dev", "libtomlplusplus-dev",                                      # C++
    "perl-base", "perl-modules-5.36",                                               # Perl
    "libpython3.11-minimal", "libpython3.11-stdlib", "meson", "python3-distutils",  # Python
    "python3-lib2to3",
    "librust-arrayvec-dev", "librust-cc-dev", "librust-crossbeam-channel-dev",      # Rust
    "librust-crossbeam-epoch-dev", "librust-crossbeam-utils-dev", "librust-digest-dev",
    "librust-generic-array-dev", "librust-libc-dev", "librust-rayon-core-dev",
    "librust-rayon-dev", "librust-typenum-dev")
ENDINGS = (".c", ".cc", ".h", ".hpp", ".pl", ".pm", ".py", ".rs", ".tcc", ".toml")
BARE = "/usr/include/"      # headers of C++ have no ending

LETTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase


class Dice:
    """Numbers that depend on the seed alone, whatever the version of Python."""

    def __init__(self, seed):
        self._seed = seed
        self._count = 0

    def bytes(self):
        self._count += 1
        return hashlib.sha256(f"{self._seed} {self._count}".encode()).digest()

    def below(self, limit):
        return int.from_bytes(self.bytes()[:8], "big") % limit

    def text(self, length, alphabet=LETTERS):
        raw = b""
        while len(raw) < length:
            raw += self.bytes()
        return "".join(alphabet[byte % len(alphabet)] for byte in raw[:length])


class Sources:
    """The source files of the packages, in the order of the hash of their paths."""

    def __init__(self):
        installed = [p for p in PACKAGES if version_of(p) not in ("", "unknown")]
        self.missing = [p for p in PACKAGES if p not in installed]
        if not installed:
            raise Failed("no package is installed whose source text could be scanned")
        self.packages = installed
        listed = call("dpkg-query", "-L", *installed).splitlines()
        self.files = sorted(set(filter(is_source, listed)),
                            key=lambda path: hashlib.sha256(path.encode()).digest())

    def texts(self):
        """(path, bytes) of all files that are text, from the first on."""
        for path in self.files:
            with open(path, "rb") as file:
                text = file.read()
            if text and b"\0" not in text:
                yield path, text


def is_source(path):
    is_named = path.endswith(ENDINGS) or (path.startswith(BARE)
                                          and "." not in os.path.basename(path))
    return is_named and os.path.isfile(path) and not os.path.islink(path)
