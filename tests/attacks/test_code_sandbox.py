"""Programs that try to pass without being right, to see what is not theirs, and to use more than they may."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from harness import MetricError
from metrics._code_sandbox import IMAGE, Isolation, Limits, Program, choose, only, passes, verdicts
from metrics._code_sandbox.isolation import Kind, candidates
from metrics.pass_at_k import PassAtK
from metrics.program_tests import ProgramTests

TESTS = "assert answer(20) == 6765\nassert answer(21) == 10946"


KINDS: tuple[Kind, ...] = ("container", "bubblewrap", "namespaces", "weak")
INSTALLED = [kind for kind in KINDS if not isinstance(candidates(kind, IMAGE), str)]
STRONG = [kind for kind in INSTALLED if kind != "weak"]


def _isolation(kind: Kind) -> Isolation:
    try:
        return only(kind)
    except MetricError as error:
        pytest.skip(str(error))


pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs are executed on POSIX systems only")


@pytest.fixture(params=INSTALLED)
def any_isolation(request: pytest.FixtureRequest) -> Isolation:
    return _isolation(request.param)


@pytest.fixture(params=STRONG)
def isolation(request: pytest.FixtureRequest) -> Isolation:
    return _isolation(request.param)


def _holds(isolation: Isolation, body: str, expected: object = True) -> bool:
    """Return whether a function with this body, in the sandbox, returns what is expected."""
    program = f"def tried():\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
    return passes(Program(program, f"assert tried() == {expected!r}"), isolation, Limits(seconds=20))


FORGERIES = {
    "leaves with the old secret number": "import os; os._exit(83)",
    "leaves without a failure": "import os; os._exit(0)",
    "raises SystemExit": "import sys; sys.exit(0)",
    "leaves from a thread": "import os, threading, time; threading.Thread(target=os._exit, args=(83,)).start()",
    "leaves when it is called": "def answer(n):\n    import os\n    os._exit(0)",
    "exits when it is called": "def answer(n):\n    raise SystemExit(0)",
    "equals everything": (
        "class All:\n"
        "    __eq__ = __ge__ = __le__ = lambda self, other: True\n"
        "    __ne__ = lambda self, other: False\n"
        "    __hash__ = lambda self: 0\n"
        "answer = lambda n: All()"
    ),
    "is a number that equals everything": (
        "class All(int):\n    __eq__ = lambda self, other: True\n    __hash__ = int.__hash__\nanswer = lambda n: All(n)"
    ),
    "replaces Python's own functions": (
        "import builtins\n"
        "def answer(n): return n\n"
        "builtins.AssertionError = builtins.int = builtins.len = lambda *a: True\n"
        "AssertionError = Exception"
    ),
    "has its own globals under the tests' feet": "import __main__\nanswer = lambda n: n\n__main__.check = print",
    "reads its command line": (
        "import os\n"
        "numbers = [int(p) for p in open('/proc/self/cmdline').read().split(chr(0)) if p.isdigit()]\n"
        "os._exit(numbers[0])"
    ),
    "writes what it finds in memory to every pipe": """
import gc, os, sys
found = set()
frame = sys._getframe()
spaces = [vars(module) for module in list(sys.modules.values()) if hasattr(module, '__dict__')]
while frame:
    spaces += [frame.f_locals, frame.f_globals]
    frame = frame.f_back
for space in [*spaces, *(o for o in gc.get_objects() if isinstance(o, dict))]:
    for value in list(space.values()):
        if isinstance(value, (str, bytes)):
            text = value if isinstance(value, bytes) else value.encode('utf-8', 'replace')
            if len(text) < 200:
                found.add(text)
def answer(n):
    for descriptor in range(64):
        for text in found:
            for attempt in (text, b'ready\\n' + text):
                try:
                    os.write(descriptor, attempt)
                except OSError:
                    break
    os._exit(0)
""",
    "answers what was not asked": """
import json, os
def answer(n):
    for message in (["value", True, []], ["value", 6765, []], ["call", ["tuple", [0, ["tuple", []], ["dict", []]]]]):
        content = json.dumps(message).encode()
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, len(content).to_bytes(4, 'big') + content)
            except OSError:
                pass
""",
    "sends bytes that are not a message": """
import os
def answer(n):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b'\\xff' * 100)
        except OSError:
            pass
""",
    "takes the pipes of the process that tests it": """
import ctypes, os
libc = ctypes.CDLL(None)
def answer(n):
    for pid in {os.getppid(), 1}:
        opened = libc.syscall(434, pid, 0)
        for descriptor in range(16):
            taken = libc.syscall(438, opened, descriptor, 0)
            if taken >= 0:
                os.write(taken, b'taken')
                raise SystemError
    return n
""",
    "reads the memory of the process that tests it": """
import os
def answer(n):
    for pid in (os.getppid(), 1):
        try:
            open(f'/proc/{pid}/mem', 'rb').close()
        except OSError:
            try:
                open(f'/proc/{pid}/environ', 'rb').read()
            except OSError:
                continue
        return (6765, 10946)[n - 20]
    return n
""",
    "sends itself as an infinite answer": "def answer(n):\n    x = []\n    x.append(x)\n    return x",
    "answers with a module of its own": "import sys\nanswer = sys.modules[__name__]",
}


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_program_that_is_wrong_does_not_pass(any_isolation: Isolation, kind: str) -> None:
    assert not passes(Program(FORGERIES[kind], TESTS), any_isolation, Limits(seconds=5))


CASE_FORGERIES = {
    "writes to every descriptor": (
        "import os\nfor n in range(64):\n    try: os.write(n, b'11111')\n    except OSError: pass"
    ),
    "ends the process that started it": "import os\nos.kill(os.getppid(), 9)",
    "stops the process that started it": "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)",
    "reads the process that started it": "import os\nprint(open(f'/proc/{os.getppid()}/mem', 'rb').read(9))",
    "finds the expected output": (
        "import gc\nprint([x for x in gc.get_objects() if isinstance(x, dict) and 'stdout' in x][0]['stdout'])"
    ),
    "leaves a process that prints": (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(0.3)\n    print(10946)"
    ),
    "leaves the answer for the next case": "import os\nopen('a', 'a').write('10946')\nprint(open('a').read()[:4])",
    "exits": "import os\nos._exit(0)",
}


@pytest.mark.parametrize("kind", CASE_FORGERIES)
def test_a_program_that_prints_nothing_right_passes_no_case(any_isolation: Isolation, kind: str) -> None:
    cases = [{"stdin": "20", "stdout": "6765"}, {"stdin": "21", "stdout": "10946"}]
    program = Program(CASE_FORGERIES[kind], "")
    assert verdicts(program, cases, any_isolation, Limits(seconds=6), case_seconds=2.0) == [False, False]


def test_cases_in_any_isolation(any_isolation: Isolation) -> None:
    program = Program("def f(n):\n    return n * 2", "", entry_point="f")
    calls: list[dict[str, object]] = [{"arguments": [2], "returns": 4}, {"arguments": ["a"], "returns": "b"}]
    assert verdicts(program, calls, any_isolation, Limits(seconds=20), case_seconds=5.0) == [True, False]
    printing = Program("print(int(input()) * 2)", "")
    cases = [{"stdin": "2", "stdout": "4"}, {"stdin": "x", "stdout": "4"}]
    assert verdicts(printing, cases, any_isolation, Limits(seconds=20), case_seconds=5.0) == [True, False]


def test_a_program_that_is_right_passes(any_isolation: Isolation) -> None:
    program = "def answer(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a\n"
    assert passes(Program(program, TESTS), any_isolation, Limits(seconds=20))


def test_helpers_of_the_prompt_cannot_be_replaced_by_the_completion(any_isolation: Isolation) -> None:
    prefix = "def distance(a, b):\n    return abs(a - b)\n\ndef root(n):\n    '''The root.'''\n"
    tests = "assert distance(root(4), 2) < 1e-6 and distance(root(9), 3) < 1e-6"
    assert passes(Program("    return n ** 0.5\n", tests, prefix), any_isolation)
    fooled = "    return 0\n\ndef distance(a, b):\n    return 0\n\ndef abs(x):\n    return 0\n"
    assert not passes(Program(fooled, tests, prefix), any_isolation)


def test_files_of_the_user_cannot_be_read(isolation: Isolation, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    secret.chmod(0o644)
    for file in (secret, Path(__file__), Path("/etc/passwd"), Path("/etc/hostname"), Path(sys.prefix, "pyvenv.cfg")):
        assert _holds(isolation, f"import os\nreturn os.path.exists({str(file)!r})", False), file
    if isolation.kind != "container":
        hidden = {"home", "root", "mnt", "run", "var", "sys", "boot", "tmp"}
        hidden -= {*Path(sys.base_prefix).parts, *Path(sys.prefix).parts}  # Python itself is there
        assert _holds(isolation, f"import os\nreturn {hidden!r} & set(os.listdir('/'))", set())


def test_the_environment_of_other_processes_cannot_be_read(
    isolation: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "1")
    assert _holds(
        isolation,
        """
        import glob, os
        for file in glob.glob('/proc/*/environ'):
            try:
                if b'SECRET_KEY' in open(file, 'rb').read():
                    return False
            except OSError:
                pass
        return 'SECRET_KEY' not in os.environ
        """,
    )


def test_sockets_on_disk_and_of_the_network_cannot_be_reached(isolation: Isolation, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as unix, socket.socket() as tcp:
        unix.bind(str(path))
        unix.listen()
        path.chmod(0o777)
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        for address, family in ((repr(str(path)), "AF_UNIX"), (repr(tcp.getsockname()), "AF_INET")):
            connect = f"""
                import socket
                try:
                    socket.socket(socket.{family}).connect({address})
                except OSError:
                    return True
                return False
            """
            assert _holds(isolation, connect), family


def test_processes_are_limited_for_the_superuser_too(isolation: Isolation) -> None:
    body = """
        import os, signal
        count = 0
        try:
            for count in range(500):
                if os.fork() == 0:
                    signal.pause()
                    os._exit(0)
        except OSError:
            return os.getuid() != 0 and count < 64
        return count
    """
    assert _holds(isolation, body)


def test_what_can_be_written_is_limited_in_all(isolation: Isolation) -> None:
    body = """
        import errno
        try:
            for number in range(100):
                with open(f'file{number}', 'wb') as file:
                    file.write(bytes(4 << 20))
        except OSError as error:
            return error.errno == errno.ENOSPC and number <= 16
        return number
    """
    assert _holds(isolation, body)


@pytest.mark.parametrize("kind", [kind for kind in STRONG if kind != "bubblewrap"])  # which has no such limit
def test_files_without_content_are_limited_in_number(kind: Kind) -> None:
    body = """
        try:
            for number in range(20_000):
                open(f'file{number}', 'wb').close()
        except OSError:
            return True
        return number
    """
    assert _holds(_isolation(kind), body)


@pytest.mark.parametrize(
    "body",
    [
        "open('/new', 'w')",
        "os.mkdir('/tmp')",
        "open(os.__file__, 'a')",
        "os.remove(os.__file__)",
        "os.chmod(os.__file__, 0o777)",
        "open('/dev/shm/x', 'w')",
        "libc.mount(b'none', b'/', None, 0x20 | 0x1000, None) == 0 or fail()",
        "libc.mount(b'none', b'/scratch', b'tmpfs', 0, None) == 0 or fail()",
        "libc.umount2(os.fsencode(os.path.dirname(os.__file__)), 2) == 0 or fail()",
        "libc.unshare(0x20000) == 0 or fail()",
        "libc.unshare(0x10000000) == 0 or fail(); libc.unshare(0x20000) == 0 or fail(); libc.mount(b'none', "
        "b'/', None, 0x20 | 0x1000, None) == 0 or fail()",
        "os.setuid(0)",
        "os.mknod('disk', 0o60600, os.makedev(254, 0))",
        "libc.sethostname(b'x', 1) == 0 or fail()",
        "os.kill(1, 9); import time; time.sleep(0.2); os.kill(os.getppid(), 0); fail()",
        "os.kill({harness}, 0)",
    ],
)
def test_there_is_no_way_to_change_the_surroundings(isolation: Isolation, body: str) -> None:
    program = f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def fail():
    raise OSError(ctypes.get_errno(), "refused")
def tried():
    try:
        {body.replace("{harness}", str(os.getpid()))}
    except OSError:
        return "refused"
    return "done"
"""
    assert passes(Program(program, "assert tried() == 'refused'"), isolation, Limits(seconds=20))


def test_nothing_that_a_program_started_outlives_it(any_isolation: Isolation) -> None:
    marker = f"harness-left-behind-{os.getpid()}"
    body = f"""
        import os, sys, time
        if os.fork() == 0:
            os.setsid()
            os.execv(sys.executable, [sys.executable, '-S', '-c', 'import time; time.sleep(30)', {marker!r}])
        time.sleep(0.3)
        return True
    """
    assert _holds(any_isolation, body)
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert marker not in running


def test_an_isolation_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing weaker takes the place of what was asked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    only.cache_clear()
    stronger = "executed in bubblewrap or anything stronger .*podman is not installed"
    with pytest.raises(MetricError, match=stronger) as raised:
        choose.__wrapped__("bubblewrap")
    assert "bubblewrap (bwrap) is not installed" in str(raised.value)
    with pytest.raises(MetricError, match=r"in a container .*podman is not installed, docker is not installed"):
        choose.__wrapped__("container", "python:3")


def test_the_strongest_that_works_and_is_strong_enough_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    works: set[Kind] = set()

    def tried(kind: Kind, image: str) -> Isolation:
        if kind not in works:
            raise MetricError(f"{kind}: not here")
        return Isolation(kind, "")

    monkeypatch.setattr("metrics._code_sandbox.only", tried)
    for working, least, expected in (
        (("container", "bubblewrap", "namespaces", "weak"), "weak", "container"),
        (("namespaces", "weak"), "weak", "namespaces"),
        (("weak",), "weak", "weak"),
        (("bubblewrap", "weak"), "namespaces", "bubblewrap"),
        (("weak",), "namespaces", None),
        (("namespaces", "weak"), "bubblewrap", None),
        (("bubblewrap", "namespaces"), "container", None),
    ):
        works.clear()
        works.update(working)  # type: ignore[arg-type]
        if expected is not None:
            assert choose.__wrapped__(least).kind == expected
            continue
        with pytest.raises(MetricError, match="container: not here") as raised:
            choose.__wrapped__(least)
        assert ("write isolation: weak" in str(raised.value)) == (least == "namespaces")


@pytest.mark.parametrize("tool", ["podman", "docker"])
def test_the_command_of_a_container(tool: str, tmp_path: Path) -> None:
    """The command is built as it would be run; running it needs the tool."""
    limits = {"memory": 1 << 30, "file_size": 1, "disk": 64 << 20, "files": 64, "processes": 32}
    launch = Isolation("container", "", f"/usr/bin/{tool}", "python:3.11-slim").start(limits, tmp_path, "CODE")
    assert launch.command[:2] == [f"/usr/bin/{tool}", "run"]
    assert launch.command[-6:] == ["python:3.11-slim", "python3", "-I", "-S", "-c", "CODE"]
    options = " ".join(launch.command)
    for wanted in (
        "--network none",
        "--read-only",
        "--cap-drop ALL",
        "--pull never",
        "--security-opt no-new-privileges",
        "--user 65534:65534",
        "--pids-limit 40",
        f"--memory {2 << 30} --memory-swap {2 << 30}",
        f"--tmpfs /scratch:rw,nosuid,nodev,size={64 << 20}",
    ):
        assert wanted in options
    name = launch.command[launch.command.index("--name") + 1]
    assert launch.stop == (f"/usr/bin/{tool}", "kill", name)


def test_the_command_of_bubblewrap(tmp_path: Path) -> None:
    limits = {"memory": 1 << 30, "file_size": 1, "disk": 64 << 20, "files": 64, "processes": 32}
    launch = Isolation("bubblewrap", "", "/usr/bin/bwrap").start(limits, tmp_path, "CODE")
    command = " ".join(launch.command)
    for wanted in ("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop ALL", "--remount-ro /"):
        assert wanted in command
    assert launch.command[-4:] == ["-I", "-S", "-c", "CODE"]
    shown = [launch.command[place + 1] for place, part in enumerate(launch.command) if part == "--ro-bind"]
    assert not {"/", "/home", "/root", "/etc", "/proc", str(Path.home())} & set(shown)


def test_a_machine_where_only_limits_work_is_refused_by_the_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metrics._code_sandbox.STRONGEST_FIRST", ("container", "bubblewrap", "namespaces", "weak"))
    monkeypatch.setattr(
        "metrics._code_sandbox.candidates", lambda kind, image: Isolation("weak", "") if kind == "weak" else "not here"
    )
    only.cache_clear()
    choose.cache_clear()
    try:
        with pytest.raises(MetricError, match=r"namespaces: not here.*write isolation: weak"):
            PassAtK(allow_code_execution=True)
        with pytest.raises(MetricError, match="in a container"):
            ProgramTests(allow_code_execution=True, isolation="container")
    finally:
        only.cache_clear()
        choose.cache_clear()
