"""TAP, for tests that are written in Python."""

SHOWN_MAX = 5  # failures that are explained


class Tap:
    def __init__(self):
        self.number = self.failed = 0

    def tell(self, is_good, name, why=""):
        self.number += 1
        self.failed += not is_good
        print(("ok" if is_good else "not ok"), self.number, "-", name.replace("#", " "))
        if not is_good and self.failed <= SHOWN_MAX:
            print("\n".join("# " + line for line in why.splitlines()))

    def skip(self, name, why):
        self.number += 1
        print("ok", self.number, "-", name.replace("#", " "), "# SKIP", why)

    def end(self):
        """The plan; and the status to exit with."""
        print(f"1..{self.number}")
        return 1 if self.failed else 0
