"""Programs that are measured side by side: each a process of its own, which is asked
and answers with a line of JSON. Imports nothing that could slow one of them.
"""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

PAUSE = 0.3  # seconds: longer than a library's idle threads go on spinning
Answer = dict[str, Any]


class Program:
    """A script of this folder, running, with its arguments."""

    def __init__(self, script: str, *arguments: object) -> None:
        command = [sys.executable, str(Path(__file__).with_name(script))]
        self.process = subprocess.Popen(
            command + [str(each) for each in arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def ask(self, request: Mapping[str, Any]) -> Answer:
        """Its answer to a request: `seconds`, what it `found`, and `imported`."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            return dict(json.loads(self.process.stdout.readline()))
        except (BrokenPipeError, ValueError):
            self.close()
            command = shlex.join(cast(list[str], self.process.args))
            code = self.process.returncode
            raise SystemExit(f"{command}: ended with code {code}") from None

    def close(self) -> None:
        """End it: it stops when there is nothing more to read."""
        self.process.communicate()


def serve(prepare: Callable[..., Callable[[], Any]]) -> None:
    """Be a program: answer requests until there are no more.

    `prepare` is given a request's fields and returns the work, which alone is timed.
    """
    for line in sys.stdin:
        work = prepare(**json.loads(line))
        began = time.perf_counter()
        found = work()
        seconds = time.perf_counter() - began
        imported = [name for name in ("torch", "ctranslate2") if name in sys.modules]
        answer = {"seconds": seconds, "found": found, "imported": imported}
        print(json.dumps(answer), flush=True)


def take_turns(
    programs: Mapping[str, Program], request: Mapping[str, Any], rounds: int
) -> dict[str, list[Answer]]:
    """The answers of each program, round by round, another one first in each round."""
    names, answers = list(programs), {name: list[Answer]() for name in programs}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            time.sleep(PAUSE)
            answers[name].append(programs[name].ask(request))
    return answers


def timed(
    translate: Callable[[list[str]], Any], lines: list[str], calls: int
) -> list[float]:
    """The seconds of each call with so many lines."""
    seconds = []
    for at in range(0, len(lines), calls):
        start = time.perf_counter()
        translate(lines[at : at + calls])
        seconds.append(time.perf_counter() - start)
    return seconds
