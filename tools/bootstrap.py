"""Makes `.venv` ready: a virtual environment with one lock file's packages, checked by hash, and this checkout installed editable.

    python3 tools/bootstrap.py demo|dev [--python-given]

A run that finds everything in place ends at once. Written so that an interpreter too old for the project still gets to say so.
"""

import hashlib
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
BIN = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin")
PYTHON = os.path.join(BIN, "python")
# `dev` holds all that `demo` holds, in the same versions.
SATISFIED_BY = {"demo": ("demo", "dev"), "dev": ("dev",)}


def stop(sentence):
    """End with one sentence on stderr."""
    sys.stderr.write("bootstrap: " + sentence + "\n")
    sys.exit(1)


def fingerprint(lock):
    """What an installation depends on: the lock file and what the editable install reads."""
    digest = hashlib.sha256()
    for name in ("requirements/" + lock + ".lock", "pyproject.toml", "src/benchloop_client/contract/version.py"):
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def stamp(lock):
    """Where the fingerprint of a finished installation is kept."""
    return os.path.join(VENV, "." + lock + ".installed")


def is_installed(lock):
    """Whether the environment already holds what `lock` names."""
    for other in SATISFIED_BY[lock]:
        if os.path.exists(stamp(other)):
            with open(stamp(other)) as file:
                if file.read() == fingerprint(other):
                    return True
    return False


def venv_version():
    """(major, minor) of the environment's own interpreter; None when there is none or it does not run any more."""
    if not os.path.exists(PYTHON):
        return None
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        answer = subprocess.check_output([PYTHON, "-c", ask]).decode().strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return tuple(int(part) for part in answer.split("."))


def make_venv():
    """A new environment in place of whatever was there."""
    print("making .venv with Python %d.%d" % sys.version_info[:2])
    if subprocess.call([sys.executable, "-m", "venv", "--clear", VENV]) != 0:
        stop("`%s -m venv` failed; on Debian and Ubuntu `apt-get install python3-venv` brings what is missing" % sys.executable)


def install(lock):
    """The lock's packages, then this checkout without looking for anything more."""
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check", "install", "-qq"]
    if subprocess.call([PYTHON, "-c", "import pip"], stderr=subprocess.DEVNULL) != 0:
        subprocess.call([PYTHON, "-m", "ensurepip"], stdout=subprocess.DEVNULL)
    print("installing requirements/%s.lock (the first time a minute or two)" % lock)
    if subprocess.call(pip + ["--require-hashes", "-r", os.path.join(ROOT, "requirements", lock + ".lock")]) != 0:
        stop("the packages of requirements/%s.lock could not be installed; pip says why above" % lock)
    if subprocess.call(pip + ["--no-deps", "--no-build-isolation", "--editable", ROOT]) != 0:
        stop("this checkout could not be installed; pip says why above")
    with open(stamp(lock), "w") as file:
        file.write(fingerprint(lock))


def main(arguments):
    """Bring `.venv` to what the named lock asks for."""
    lock = arguments[0]
    if sys.version_info < (3, 10):
        stop(
            "Python 3.10 or newer is needed, %s is %d.%d; name another with `make PYTHON=python3.12`"
            % ((sys.executable,) + sys.version_info[:2])
        )
    found = venv_version()
    chosen = "--python-given" in arguments
    if found is None or found < (3, 10) or (chosen and found != sys.version_info[:2]):
        try:
            import ensurepip  # noqa: F401, PLC0415  (asked only when it is needed)
            import venv  # noqa: F401, PLC0415
        except ImportError:
            stop("Python's venv module is missing; on Debian and Ubuntu `apt-get install python3-venv` brings it")
        make_venv()
    if not is_installed(lock):
        install(lock)


if __name__ == "__main__":
    main(sys.argv[1:])
