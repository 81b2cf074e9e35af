"""For each rule: jobs in which it fires, and jobs that look alike in which it does not, because nothing is wrong or it was got over."""

from __future__ import annotations

from collections.abc import Iterator

from benchloop_analysis.records import JobInput, Siblings
from tests.unit.analysis.small import ALL_FAILED, ONE_LEFT, PASSED, call, graded, job, phase, say, service, sh, tau

UNREADABLE = {"trajectory_problem": "agent/trajectory.json: JSON ends too early at byte 1000"}
NOTHING_RAN = "curl: (7) Failed to connect to github.com port 443\n/tests/test.sh: line 19: uvx: command not found\n"
WRITE = sh("cat > /app/a.py <<'EOF'\nprint(1)\nEOF", "")
LOOK = service("list_kinds", '{"kinds": 10, "cheap": 4}')
GONE = "Error response from daemon: No such container: 5f"
ASK_FIRST = say("You must obtain explicit user confirmation (yes) before any update.", "system")

#: rule → (jobs in which it fires, jobs in which it does not)
Case = tuple[list[JobInput], list[JobInput]]


def error(name: str, message: str = "", **more: object) -> JobInput:
    """A job that ended with an exception and without a reward."""
    return job(WRITE, reward=None, error_type=name, error_message=message or None, **more)  # type: ignore[arg-type]


GRADING: dict[str, Case] = {
    "verifier-timeout": (
        [error("VerifierTimeoutError", "Verifier execution timed out after 900 s"), error("Failed", "verifier timed out")],
        [error("AgentTimeoutError", "Agent execution timed out after 900 s"), graded(log=ALL_FAILED)],
    ),
    "verifier-bootstrap-failed": (
        [graded(log=NOTHING_RAN), graded(log="E: Unable to locate package curl"), graded(WRITE, log=NOTHING_RAN, reward=1.0)],
        [
            graded(log=NOTHING_RAN + PASSED, reward=1.0),
            graded(log=NOTHING_RAN + ALL_FAILED),
            job(sh("uvx pytest", "uvx: command not found")),
        ],
    ),
    "verifier-crash-recorded": ([error("AddTestsDirError")], [error("RewardFileNotFoundError"), graded()]),
    "reward-file-missing": ([error("RewardFileNotFoundError", "No reward file")], [error("AddTestsDirError"), graded()]),
    "verifier-crash": (
        [graded(log="INTERNALERROR> Traceback"), graded(log="Traceback (most recent call last):\n  File x")],
        [graded(log="Traceback (most recent call last):\n" + ALL_FAILED), graded(log="Segmentation in memory")],
    ),
    "verifier-no-report": (
        [graded(log="==== test session starts ====\ncollected 0 items"), graded(log="Ran 0 tests in 0.0s")],
        [
            graded(log="==== test session starts ====\n" + ALL_FAILED),
            graded(log="hello.txt missing"),
            graded(log="no tests ran", reward_valid=True),
        ],
    ),
    "reward-missing": (
        [job(WRITE, reward=None, phases={"verifier": phase(1)})],
        [job(WRITE, reward=None), job(WRITE, phases={"verifier": phase(1)}), error("VerifierTimeoutError", phases={"verifier": phase(1)})],
    ),
    "reward-conflict": (
        [graded(log=PASSED), graded(log=ALL_FAILED, reward=1.0)],
        [graded(log=PASSED, reward=1.0), graded(log=ALL_FAILED), graded(log=ONE_LEFT, reward=1.0), graded(log=ONE_LEFT, reward=0.66)],
    ),
}
SURROUNDINGS: dict[str, Case] = {
    "image-build-failed": ([error("SandboxBuildFailedError")], [job(WRITE, error_type="SandboxBuildFailedError"), error("OtherError")]),
    "start-timeout": ([error("EnvironmentStartTimeoutError")], [error("AgentTimeoutError")]),
    "sandbox-lost-recorded": (
        [error("ContainerNotRunningError"), error("Failed", "No such container: 5f")],
        [error("Failed", "no such file")],
    ),
    "sandbox-lost": (
        [job(WRITE, sh("ls", GONE), sh("pwd", GONE))],
        [
            job(WRITE, sh("ls", GONE), sh("pwd", GONE), sh("ls", "a.py")),
            job(WRITE, sh("ls", GONE)),
            job(sh("ls", GONE), sh("ls", GONE), reward=1.0),
        ],
    ),
    "oom-killed-recorded": (
        [error("OutOfMemoryError"), error("Failed", "container was OOMKilled")],
        [error("Failed", "no memory of that")],
    ),
    "oom-killed": (
        [job(sh("python train.py", "Exit code 137\nKilled", failed=True))],
        [
            job(sh("python train.py", "Exit code 137\nKilled", failed=True), sh("python train.py --small", "done")),
            job(sh("python train.py", "Exit code 1\nMemoryError", failed=True)),
        ],
    ),
    "disk-full": (
        [job(sh("make", "cc1: No space left on device", failed=True))],
        [
            job(sh("make", "cc1: No space left on device", failed=True), sh("make", "ok")),
            job(sh("cat log", "No space left on device", failed=False)),
        ],
    ),
    "network-unavailable": (
        [
            job(
                sh("curl a.example", "curl: (6) Could not resolve host", failed=True),
                sh("curl b.example", "Connection refused", failed=True),
            )
        ],
        [
            job(
                sh("curl a.example", "curl: (6) Could not resolve host", failed=True),
                sh("curl b.example", "Connection refused", failed=True),
                sh("wget c.example", "saved"),
            ),
            job(sh("curl a.example", "Connection refused", failed=True)),
            job(sh("curl localhost", "429 too many requests", failed=True), sh("curl localhost", "429", failed=True)),
        ],
    ),
    "dependency-unavailable": (
        [job(*[sh(f"pip install {name}", "ERROR: No matching distribution found", failed=True) for name in ("foo", "bar")])],
        [
            job(
                *[sh(f"pip install {name}", "ERROR: No matching distribution found", failed=True) for name in ("foo", "bar")],
                sh("pip install b"),
            ),
            job(sh("pip install foo", "ERROR: No matching distribution found", failed=True)),
        ],
    ),
    "env-permission-denied": (
        [job(sh("cat /srv/in.csv", "cat: /srv/in.csv: Permission denied", failed=True), task="Read /srv/in.csv.")],
        [
            job(sh("cat /etc/shadow", "cat: /etc/shadow: Permission denied", failed=True), task="Read /srv/in.csv."),
            job(
                sh("cat /srv/in.csv", "cat: /srv/in.csv: Permission denied", failed=True),
                sh("sudo cat /srv/in.csv", "1,2"),
                task="Read /srv/in.csv.",
            ),
        ],
    ),
    "agent-setup-failed": ([error("AgentSetupTimeoutError")], [error("AgentTimeoutError")]),
    "cancelled": ([job(WRITE, reward=None, status="cancelled"), error("CancelledError")], [job(WRITE, status="cancelled"), error("Other")]),
    "agent-crashed": (
        [error("NonZeroAgentExitCodeError", "exit 1")],
        [error("NonZeroAgentExitCodeError", "API rate limit reached"), error("AgentTimeoutError")],
    ),
    "harness-exception": ([error("TypeError", "unexpected argument")], [error("AgentTimeoutError"), job(WRITE, error_type="TypeError")]),
    "trajectory-corrupt": (
        [job(meta=UNREADABLE), graded(log=NOTHING_RAN, meta=UNREADABLE)],
        [job(WRITE, meta=UNREADABLE), job(meta=UNREADABLE, reward=1.0), job(meta={"lossy": ["surrogates"]}), job()],
    ),
    "tool-bridge-suspected": (
        [job(*[sh(": python a.py", "")] * 3, *[sh("ls", "a")] * 7), graded(*[sh(":", None)] * 3, log=NOTHING_RAN)],
        [
            job(*[sh(": python a.py", "")] * 2, WRITE),
            job(*[sh(": python a.py", "")] * 3, *[sh("ls", "a")] * 8),
            job(*[sh(": python a.py", "1")] * 5),
            job(*[sh(": > out.txt", "")] * 5),
            job(*[sh("python a.py", "")] * 5),
            job(*[sh(": python a.py", "")] * 5, reward=1.0),
        ],
    ),
    "trajectory-missing": (
        [job(error_type="AgentTimeoutError")],
        [job(WRITE, error_type="AgentTimeoutError"), job(error_type="AgentTimeoutError", reward=1.0), job()],
    ),
}
SERVICE_AND_LIMITS: dict[str, Case] = {
    "api-rate-limited": (
        [error("ApiRateLimitError"), error("NonZeroAgentExitCodeError", "HTTP 429 Too Many Requests")],
        [error("BadRequestError"), job(sh("curl x", "429 Too Many Requests", failed=True))],
    ),
    "api-auth-or-quota": (
        [error("AuthenticationError"), error("E", "insufficient_quota")],
        [error("E", "quota of disk"), error("ApiRateLimitError")],
    ),
    "api-connection-failed": ([error("APIConnectionError")], [error("ConnectionError")]),
    "api-bad-request": (
        [error("BadRequestError", "model x is unknown"), error("E", "model_not_found")],
        [error("BadRequestError", "maximum context length is 8192")],
    ),
    "api-service-error": ([error("InternalServerError"), error("E", "503 Service Unavailable")], [error("ApiRateLimitError")]),
    "content-filtered-recorded": ([error("ContentPolicyViolationError")], [error("BadRequestError")]),
    "content-filtered": (
        [job(say("", extra={"stop_reason": "content_filter"}))],
        [job(say("", extra={"stop_reason": "content_filter"}), say("Done.")), job(say("", extra={"stop_reason": "end_turn"}))],
    ),
    "api-error-at-end": (
        [job(WRITE, say("API Error: 529 overloaded"))],
        [job(say("API Error: 529 overloaded"), WRITE, say("Done.")), job(WRITE, say("I handled the API Error case."))],
    ),
    "api-session-error": (
        [job(WRITE, files={"agent/session_events.jsonl": '{"type": "result", "is_error": true, "result": "API Error: 500"}'})],
        [job(WRITE, files={"agent/session_events.jsonl": '{"type": "result", "is_error": false, "result": "API Error: 500 handled"}'})],
    ),
    "empty-completions": (
        [job(WRITE, *[say("", metrics={"completion_tokens": 0})] * 3)],
        [job(*[say("", metrics={"completion_tokens": 0})] * 3, say("Here.")), job(WRITE, *[say("", metrics={"completion_tokens": 0})] * 2)],
    ),
    "wall-clock-timeout": (
        [job(WRITE, error_type="AgentTimeoutError"), error("AgentTimeoutError")],
        [job(WRITE, error_type="AgentTimeoutError", reward=1.0), error("VerifierTimeoutError")],
    ),
    "max-turns": (
        [error("MaxTurnsExceededError"), job(WRITE, files={"agent/session_events.jsonl": '{"subtype": "error_max_turns"}'})],
        [job(WRITE, files={"agent/session_events.jsonl": '{"subtype": "success"}'})],
    ),
    "turns-without-end": (
        [job(say("Yes?"), say("Hm.", "user"), files={"trial.json": '{"info": {"reward_info": null}}'})],
        [job(say("Yes?"), say("Hm.", "user"), files={"trial.json": '{"info": {"reward_info": {}}}'})],
    ),
    "token-or-cost-budget": ([error("CostLimitError"), error("E", "exit_cost")], [error("E", "costly")]),
    "context-exhausted": ([error("ContextWindowExceededError"), error("E", "context_length_exceeded")], [error("E", "context")]),
    "output-truncated-recorded": ([error("OutputTokenExceededError")], [error("ContextWindowExceededError")]),
    "output-truncated": (
        [job(WRITE, say("I will now", extra={"finish_reason": "length"}))],
        [
            job(say("I will now", extra={"finish_reason": "length"}), say("Done.")),
            job(WRITE, say("Done.", extra={"finish_reason": "stop"})),
        ],
    ),
}
EDIT = ("Edit", "String to replace not found in file.")
PROCESS: dict[str, Case] = {
    "loop-exact": (
        [job(*[sh("python a.py", "7")] * 4)],
        [job(*[sh("python a.py", "7")] * 3), job(*[sh("python a.py", str(n)) for n in range(4)]), job(*[sh(":", "")] * 4)],
    ),
    "loop-error-retry": (
        [job(*[sh("python a.py", "Exit code 1\nTraceback", failed=True)] * 3)],
        [
            job(*[sh("python a.py", "Exit code 1\nTraceback", failed=True)] * 2),
            job(*[sh(f"python a{n}.py", "Exit code 1\nTraceback", failed=True) for n in range(3)]),
        ],
    ),
    "loop-alternating": (
        [job(*[sh("cat a", "1"), sh("cat b", "2")] * 3)],
        [
            job(*[sh("cat a", "1"), sh("cat b", "2")] * 2),
            job(*[sh("cat a", "1")] * 6),
            job(*[sh(f"cat {n % 2}", str(n)) for n in range(6)]),
        ],
    ),
    "edit-oscillation": (
        [job(*[call("Write", file_path="/a", content=text) for text in ("1", "2", "1", "2")])],
        [job(*[call("Write", file_path="/a", content=text) for text in ("1", "2", "1", "3")])],
    ),
    "idle-calls": (
        [job(*[sh(": \n", "")] * 3, sh("ls", "a"))],
        [job(sh(":", ""), *[sh("ls", "a")] * 3), job(*[sh(":", "")] * 4, reward=1.0)],
    ),
    "monologue": (
        [job(WRITE, *[say(f"Let me think {n}.") for n in range(4)], WRITE)],
        [job(WRITE, *[say(f"Let me think {n}.") for n in range(3)], WRITE), job(WRITE, *[say("Done.")] * 5)],
    ),
    "no-action": (
        [job(sh("ls", "a"), say("Done.")), graded(say("Done."))],
        [job(sh("python a.py")), job(WRITE), job(sh("ls"), reward=1.0), job(say("I think so."), say("The answer is 7."))],
    ),
    "refused": (
        [job(say("I can't help with that."))],
        [job(say("I can't find the file, so I made one.")), job(say("I can't help with that."), WRITE, say("Done."))],
    ),
    "gave-up": (
        [job(WRITE, say("I was not able to complete the task."))],
        [job(WRITE, say("I was able to complete the task.")), job(WRITE, say("At first I couldn't solve it, but then it worked."))],
    ),
    "waited-for-user": (
        [job(WRITE, say("Shall I go on?")), job(WRITE, call("AskUserQuestion", None, questions=["Which?"]))],
        [job(say("Shall I go on?"), WRITE, say("Done.")), job(say("Which?"), say("That.", "user"), say("Sure?"))],
    ),
    "premature-submit": (
        [job(WRITE, siblings=Siblings(jobs=4, passed=2, median_steps=40.0))],
        [
            job(WRITE, siblings=Siblings(jobs=2, passed=2, median_steps=40.0)),
            job(WRITE, sh("pytest"), siblings=Siblings(jobs=4, passed=2, median_steps=40.0)),
            job(WRITE, siblings=Siblings(jobs=4, passed=2, median_steps=4.0)),
        ],
    ),
    "lost-context": (
        [
            job(
                *[call("Read", "x", file_path=f"/{n}") for n in range(3)],
                say("This session is being continued from a previous conversation.", "user"),
                *[call("Read", "x", file_path=f"/{n}") for n in range(3)],
            )
        ],
        [job(*[call("Read", "x", file_path=f"/{n}") for n in range(3)] * 2)],
    ),
    "empty-final-turn": ([job(WRITE, say(""))], [job(say(""), WRITE, say("Done.")), job(WRITE)]),
    "unverified-success-claim": (
        [job(WRITE, say("All tests pass.")), job(WRITE, sh("pytest", "1 failed in 1s", failed=True), say("It is working."))],
        [job(WRITE, sh("pytest", "1 passed in 1s"), say("All tests pass.")), job(WRITE, say("Created it, but it is untested."))],
    ),
}
TOOLS: dict[str, Case] = {
    "malformed-call": (
        [job(*[call("Read", "InputValidationError: missing required", failed=True)] * 2)],
        [job(call("Read", "InputValidationError", failed=True), call("Read", "text"), call("Read", "InputValidationError", failed=True))],
    ),
    "unknown-tool": ([job(*[call("Peek", "Error: unknown tool Peek")] * 2)], [job(call("Peek", "Error: unknown tool Peek"))]),
    "repeated-edit-failure": (
        [job(*[call(*EDIT, failed=True, file_path="/a.py", new_string=str(n)) for n in range(3)])],
        [
            job(*[call(*EDIT, failed=True, file_path="/a.py", new_string=str(n)) for n in range(3)], call("Edit", file_path="/a.py")),
            job(*[call(*EDIT, failed=True, file_path=f"/{n}.py", new_string="x") for n in range(3)]),
        ],
    ),
    "interactive-hang": (
        [job(*[sh("vim a.py", "Command timed out", failed=True)] * 2), job(*[sh("python -m http.server", "timed out", failed=True)] * 2)],
        [job(*[sh("python train.py", "Command timed out", failed=True)] * 2), job(*[sh("vim a.py", "ok")] * 2)],
    ),
    "self-inflicted-damage": (
        [job(sh("rm data.csv", ""), sh("python a.py", "FileNotFoundError: data.csv", failed=True))],
        [
            job(sh("rm data.csv", ""), sh("touch data.csv", ""), sh("python a.py", "FileNotFoundError: data.csv", failed=True)),
            job(sh("rm data.csv", ""), sh("python a.py", "FileNotFoundError: old_data.csv", failed=True)),
        ],
    ),
    "ignored-tool-error": (
        [job(*[sh(f"python {n}.py", "Exit code 1\nboom", failed=True) for n in "ab"], *[sh("ls", "x")] * 4)],
        [
            job(
                *[step for n in "ab" for step in (sh(f"python {n}.py", "Exit code 1\nboom", failed=True), sh(f"cat {n}.py"))],
                *[sh("ls", "x")] * 4,
            ),
            job(
                *[sh(f"python {n}.py", "Exit code 1\nboom", failed=True) for n in "ab"],
                *[sh("ls", "x")] * 4,
                sh("python a.py"),
                sh("python b.py"),
            ),
        ],
    ),
}
CANCEL = ("cancel_order", {"order": "1"})
UPDATE = ("update_order", {"order": "1", "to": "x"})
ACTIONS: dict[str, Case] = {
    "actions-wrong-argument": (
        [tau(service("cancel_order", order="2"), actions=[CANCEL])],
        [tau(service("cancel_order", order="1"), actions=[CANCEL]), tau(service("cancel_order", order="2"), actions=[CANCEL], reward=1.0)],
    ),
    "actions-wrong-tool": (
        [tau(service("cancel_order", order="1"), actions=[UPDATE])],
        [tau(service("update_order", order="1", to="y"), actions=[UPDATE])],
    ),
    "actions-no-write": (
        [tau(service("get_order", order="1"), actions=[CANCEL]), tau(service("cancel_order", "Error: no", order="1"), actions=[CANCEL])],
        [tau(service("cancel_order", order="1"), actions=[CANCEL]), tau(service("get_order", order="1"), actions=[])],
    ),
    "actions-partial": (
        [tau(service("cancel_order", order="1"), actions=[CANCEL, UPDATE])],
        [tau(service("cancel_order", order="1"), service("update_order", to="x", order="1"), actions=[CANCEL, UPDATE])],
    ),
    "actions-unintended": (
        [tau(service("cancel_order", order="1"), service("cancel_order", order="3"), actions=[CANCEL])],
        [tau(service("cancel_order", order="1"), service("cancel_order", "Error: no", order="3"), actions=[CANCEL])],
    ),
    "actions-output-only": (
        [tau(service("cancel_order", order="1"), say("It costs 3."), actions=[CANCEL])],
        [tau(say("It costs 3."), actions=[CANCEL])],
    ),
    "policy-violation": (
        [job(ASK_FIRST, service("cancel_order", order="1"), say("Oh.", "user"))],
        [
            job(ASK_FIRST, say("Cancel 1?"), say("Yes, please.", "user"), service("cancel_order", order="1")),
            job(service("cancel_order", order="1"), say("Oh.", "user")),
        ],
    ),
}
MISSING = "E   FileNotFoundError: [Errno 2] No such file or directory: '/app/out.txt'\n" + ALL_FAILED
TASK: dict[str, Case] = {
    "required-artifact-missing": (
        [
            graded(WRITE, log=MISSING, task="Write /app/out.txt."),
            graded(WRITE, log=f"E  File /app/out.txt does not exist\n{ALL_FAILED}", task="Write out.txt."),
        ],
        [
            graded(WRITE, log=MISSING, task="Write /app/other.txt."),
            graded(WRITE, log=f'    assert p.exists(), "out.txt does not exist"\n{ALL_FAILED}', task="Write out.txt."),
            graded(WRITE, log=MISSING, task="Write /app/out.txt.", reward=1.0),
        ],
    ),
    "wrong-output-format": (
        [graded(WRITE, log="E   json.decoder.JSONDecodeError: Expecting value\n" + ALL_FAILED)],
        [graded(WRITE, log="import json.decoder\n" + ALL_FAILED)],
    ),
    "explicit-constraint-violated": (
        [job(call("Edit", file_path="/app/api.py"), task="Fix it. Do not modify api.py.")],
        [
            job(call("Read", file_path="/app/api.py"), task="Fix it. Do not modify api.py."),
            job(call("Edit", file_path="/app/api.py"), task="Modify api.py."),
        ],
    ),
    "wrong-target": (
        [job(call("Edit", file_path="/app/x.py"), task="Fix /app/api.py.")],
        [job(sh("cat /app/api.py"), call("Edit", file_path="/app/x.py"), task="Fix /app/api.py."), job(call("Edit", file_path="/x.py"))],
    ),
    "instruction-file-ignored": (
        [job(WRITE, task="Read the file SPEC.md and do it.")],
        [job(sh("cat SPEC.md"), WRITE, task="Read the file SPEC.md and do it."), job(WRITE, task="Write SPEC.md.")],
    ),
}
SWEBENCH = (
    '{"x-1": {"resolved": false, "tests_status": {"FAIL_TO_PASS": {"success": [], "failure": [%s]}, '
    '"PASS_TO_PASS": {"success": ["t::c"], "failure": [%s]}}}}'
)
SOLUTION: dict[str, Case] = {
    "build-or-syntax-broken": (
        [graded(WRITE, log="E     SyntaxError: invalid syntax\n" + ALL_FAILED)],
        [graded(WRITE, log="    except SyntaxError:\n" + ALL_FAILED), graded(log="E  SyntaxError: x\n" + PASSED, reward=1.0)],
    ),
    "regression": (
        [job(WRITE, files={"report.json": SWEBENCH % ('"t::a"', '"t::b"')})],
        [job(WRITE, files={"report.json": SWEBENCH % ('"t::a"', "")}), job(files={"report.json": SWEBENCH % ("", '"t::b"')}, reward=1.0)],
    ),
    "performance-threshold": (
        [graded(log="E   AssertionError: took 9.1s, limit 2s\n" + ALL_FAILED)],
        [graded(log="E   AssertionError: took the wrong turn\n" + ALL_FAILED)],
    ),
    "near-miss": (
        [graded(log=ONE_LEFT), graded(log="== 1 failed, 9 passed in 1s ==")],
        [graded(log=ALL_FAILED), graded(log="== 1 failed, 1 passed in 1s ==")],
    ),
    "partial-pass": ([graded(log="== 2 failed, 2 passed in 1s ==")], [graded(log=ONE_LEFT), graded(log=ALL_FAILED)]),
    "runtime-crash": (
        [graded(log="E  Segmentation fault\n" + ALL_FAILED)],
        [graded(log="a Segmentation fault is expected\n" + ALL_FAILED)],
    ),
    "all-tests-failed": ([graded(log=ALL_FAILED)], [graded(log=ONE_LEFT), graded(log=NOTHING_RAN)]),
    "partial-reward": ([job(reward=0.5)], [job(reward=0.0), job(reward=1.0)]),
    "verifier-says-no": (
        [graded(log="hello.txt missing")],
        [graded(log=ALL_FAILED), graded(log=NOTHING_RAN), graded(log="ok", reward=1.0)],
    ),
    "count-without-source": (
        [
            job(LOOK, say("There are 11 kinds of shirts."), say("Fine.", "user")),
            job(LOOK, say("You may bring 6 bags."), say("Good.", "user")),
        ],
        [
            job(LOOK, say("There are 10 kinds of shirts."), say("Fine.", "user")),
            job(LOOK, say("It takes 11 days; order #12 costs $13 more, on May 14, at 15:30 or 16 of 17."), say("Fine.", "user")),
            job(LOOK, say("How many?"), say("I want 11 shirts.", "user"), say("Here are 11 shirts.")),
            job(LOOK, say("There are 3 kinds of shirts."), say("Fine.", "user")),
            job(LOOK, say("There are 11 kinds of shirts.")),
            job(LOOK, say("There are 11 kinds of shirts."), say("Fine.", "user"), reward=1.0),
        ],
    ),
    "graded-conversation": (
        [
            job(LOOK, say("Cancel it?"), say("Yes.", "user"), service("cancel_order", order="1")),
            job(say("Hm."), say("Do.", "user"), service("transfer_to_human")),
        ],
        [
            job(LOOK, say("Cancel it?"), say("Yes.", "user")),
            job(service("cancel_order", order="1"), say("Done.")),
            job(say("Cancel it?"), say("Yes.", "user"), service("cancel_order", order="1"), reward=1.0),
        ],
    ),
    "graded-zero": ([job(reward_valid=True)], [job(), job(reward=1.0, reward_valid=True)]),
}
INTEGRITY: dict[str, Case] = {
    "test-tampering": (
        [job(call("Edit", file_path="/app/tests/test_a.py")), job(sh("cat tests/test_a.py"), sh("rm tests/test_a.py", ""), reward=1.0)],
        [
            job(call("Write", file_path="/app/tests/test_a.py", content="x")),
            job(call("Write", file_path="/app/test_a.py", content="x"), call("Edit", file_path="/app/test_a.py")),
            job(call("Edit", file_path="/app/tests/test_a.py"), task="Repair tests/test_a.py."),
        ],
    ),
    "grader-access": (
        [job(sh("cat /tests/test_outputs.py", "def test")), job(sh("ls /solution", "solve.sh"))],
        [job(sh("cat /tests/test_outputs.py", "cat: No such file or directory", failed=True)), job(sh("ls /app/tests"))],
    ),
    "skip-inserted": (
        [job(call("Write", file_path="/app/test_a.py", content="@pytest.mark.skip\ndef test_a(): ..."))],
        [
            job(call("Write", file_path="/app/a.py", content="@pytest.mark.skip")),
            job(call("Read", "@pytest.mark.skip", file_path="/app/test_a.py")),
        ],
    ),
    "exit-or-assert-spoof": (
        [job(call("Write", file_path="/a.py", content="class A:\n  def __eq__(self, other):\n    return True"))],
        [job(call("Write", file_path="/a.py", content="class A:\n  def __eq__(self, other):\n    return self.x == other.x"))],
    ),
    "env-special-casing": (
        [job(call("Write", file_path="/a.py", content="if 'pytest' in sys.modules: fake()"))],
        [job(call("Write", file_path="/a.py", content="import pytest"))],
    ),
    "solution-lookup": (
        [job(sh("git log -p --all -S fix"))],
        [job(sh("git log -p -3")), job(sh("curl https://example.com/docs"))],
    ),
    "hardcoded-expected": (
        [job(sh("cat tests/test_a.py", 'assert run() == "abcdefghij"'), call("Write", file_path="/a.py", content='print("abcdefghij")'))],
        [
            job(sh("cat tests/test_a.py", 'assert run() == "abcdefghij"'), call("Write", file_path="/a.py", content="print(run())")),
            job(
                sh("cat tests/test_a.py", 'assert run() == "abcdefghij"'),
                call("Write", file_path="/a.py", content='"abcdefghij"'),
                task="Print abcdefghij.",
            ),
        ],
    ),
}
ALL: dict[str, Case] = {
    **GRADING, **SURROUNDINGS, **SERVICE_AND_LIMITS, **PROCESS, **TOOLS, **ACTIONS, **TASK, **SOLUTION, **INTEGRITY
}  # fmt: skip


def firing() -> Iterator[tuple[str, int, JobInput]]:
    """Every job in which a rule is to fire."""
    yield from ((rule, place, given) for rule, (fires, _) in ALL.items() for place, given in enumerate(fires))


def silent() -> Iterator[tuple[str, int, JobInput]]:
    """Every job in which a rule is not to fire."""
    yield from ((rule, place, given) for rule, (_, quiet) in ALL.items() for place, given in enumerate(quiet))
