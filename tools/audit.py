"""Compare every pin with the known vulnerabilities of its version, as the package index publishes them.

    make audit

Ends with 0 only if every pin was looked up and nothing is known of it, with 1 if something is known, and
with 2 if the index did not answer for some pin: what was not looked up is not called safe.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environments import CONSTRAINTS, TOOL_PINS, Environment, new_environment, pins

CLEAN, VULNERABLE, UNKNOWN = 0, 1, 2


@dataclass(frozen=True)
class Audit:
    """What is known of the pins.

    Attributes:
        known: A line for every vulnerability.
        looked_up: How many pins the index answered for.
        unknown: The pins that it did not answer for.
    """

    known: Sequence[str]
    looked_up: int
    unknown: Sequence[str]

    @property
    def code(self) -> int:
        """The exit code."""
        if self.known:
            return VULNERABLE
        return UNKNOWN if self.unknown else CLEAN

    def __str__(self) -> str:
        lines = list(self.known)
        lines.append(f"{self.looked_up} pins looked up, {len(self.known)} vulnerabilities known")
        if self.unknown and not self.looked_up:
            lines.append(
                "The index reached from here publishes no vulnerabilities, so nothing was checked."
            )
        elif self.unknown:
            lines.append(f"The index did not answer for: {', '.join(self.unknown)}")
        return "\n".join(lines)


def judged(rows: Sequence[Mapping[str, Any]], pinned: Mapping[str, str]) -> Audit:
    """The audit that pip-audit's rows amount to; a pin without a row was not looked up.

    Args:
        rows: A package each: its `name`, and `vulns` unless it was skipped.
        pinned: The version of every pin.
    """
    answered = {row["name"]: row["vulns"] for row in rows if "skip_reason" not in row}
    known = [
        f"{name} {pinned[name]}: {each['id']}, fixed in {', '.join(each['fix_versions']) or 'none'}"
        for name, found in sorted(answered.items())
        for each in found
    ]
    return Audit(known, len(answered), sorted(set(pinned) - set(answered)))


def rows_of(tools: Environment) -> list[dict[str, Any]]:
    """What pip-audit says of every pin; nothing if it could not ask."""
    files = ["-r", str(CONSTRAINTS), "-r", str(TOOL_PINS)]
    service = ["--vulnerability-service", "pypi", "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run(
        [str(tools.python), "-m", "pip_audit", *files, "--no-deps", "--disable-pip", *service],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return list(json.loads(done.stdout)["dependencies"])
    except json.JSONDecodeError:
        print(done.stderr.strip()[-1000:], file=sys.stderr)
        return []


def main() -> None:
    """Look every pin up and say what is known."""
    tools = new_environment("audit", python=sys.executable)
    tools.install("-r", TOOL_PINS, constraints=CONSTRAINTS)
    audit = judged(rows_of(tools), pins(CONSTRAINTS, TOOL_PINS))
    print(audit)
    sys.exit(audit.code)


if __name__ == "__main__":
    main()
