"""Certificates and proxies: own authorities, certificates that are not good, the proxy variables, and proxies that want credentials."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.certificates import SelfSigned, authority, self_signed
from tests.support.documented import Documented
from tests.support.programs import CANARY, Bl
from tests.support.proxy import proxying
from tests.support.scripted import Scripted, scripted

GET = ("metrics", "get", "-j", "J1", "--retry", "0")


@pytest.fixture(scope="module")
def good() -> SelfSigned:
    return authority().issue("good", names=("127.0.0.1", "bench.test"))


def _filled(server: Scripted) -> Scripted:
    Documented(server).fill("G1", ["J1"])
    return server


@pytest.fixture
def secure(good: SelfSigned) -> Iterator[Scripted]:
    """A TLS server whose certificate our own authority signed."""
    with scripted("tls", context=good.server_context()) as server:
        yield _filled(server)


def _secure_bl(home: Path, server: Scripted) -> Bl:
    return Bl(home, server.origin)


def test_row_37_unknown_authority_is_four_in_the_right_words(secure: Scripted, home: Path) -> None:
    done = _secure_bl(home, secure)(*GET)
    assert (done.code, done.out) == (4, "[]\n"), done
    assert "no trusted TLS connection" in done.err and "unable to get local issuer certificate" in done.err
    assert not secure.asked()


@pytest.mark.parametrize("way", ["--cacert", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "profile"])
def test_row_37_own_authority_is_trusted_wherever_it_is_named(secure: Scripted, home: Path, way: str) -> None:
    bl, file = _secure_bl(home, secure), str(authority().certificate)
    if way == "--cacert":
        done = bl(*GET, "--cacert", file)
    elif way == "profile":
        assert bl("config", "set", "--cacert", file).code == 0
        done = bl(*GET)
    else:
        done = bl(*GET, **{way: file})
    assert done.code == 0, done
    assert secure.asked()[0].key == CANARY


def test_row_37_an_own_authority_adds_to_the_systems(home: Path, secure: Scripted, tmp_path: Path) -> None:
    """`SSL_CERT_FILE` alone takes the place of the system's file; here the second one stands beside it."""
    other = tmp_path / "other.pem"
    other.write_bytes(self_signed().certificate.read_bytes())
    done = _secure_bl(home, secure)(*GET, "--cacert", str(authority().certificate), SSL_CERT_FILE=str(other))
    assert done.code == 0, done


@pytest.mark.parametrize(
    ("name", "names", "ends", "words"),
    [
        ("expired", ("127.0.0.1",), dt.timedelta(days=-1), "certificate has expired"),
        ("elsewhere", ("other.test",), dt.timedelta(days=60), "IP address mismatch"),
    ],
)
def test_row_37_expired_and_foreign_certificates_are_named(
    home: Path, name: str, names: tuple[str, ...], ends: dt.timedelta, words: str
) -> None:
    issued = authority().issue(name, names=names, ends=ends)
    with scripted("tls", context=issued.server_context()) as server:
        done = _secure_bl(home, _filled(server))(*GET, "--cacert", str(authority().certificate))
        assert done.code == 4, done
        assert words.lower() in done.err.lower()
        assert not server.seen


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_unusable_authority_is_a_usage_error(secure: Scripted, home: Path, tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    done = _secure_bl(home, secure)(*GET, "--cacert", str(file))
    assert done.code == 2, done
    assert f"--cacert: {file}" in done.err


@pytest.fixture
def plain() -> Iterator[Scripted]:
    with scripted() as server:
        yield _filled(server)


def _through(home: Path, scheme: str = "http") -> Bl:
    """A client of a host that only the proxy knows."""
    return Bl(home, f"{scheme}://bench.test")


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_row_37_proxy_variables_in_both_cases(plain: Scripted, home: Path, variable: str) -> None:
    with proxying(plain.port) as proxy:
        done = _through(home)(*GET, "--allow-http", NO_PROXY="", **{variable: proxy.address})
    assert done.code == 0, done
    assert proxy.lines[0].startswith("GET http://bench.test/openapi/")
    assert plain.asked()


def test_row_37_https_goes_through_a_tunnel(secure: Scripted, home: Path) -> None:
    with proxying(secure.port) as proxy:
        done = _through(home, "https")(*GET, "--cacert", str(authority().certificate), NO_PROXY="", HTTPS_PROXY=proxy.address)
    assert done.code == 0, done
    assert proxy.lines[0].startswith("CONNECT bench.test:443 ")
    assert CANARY not in "".join(proxy.heads)


def test_row_37_no_proxy_goes_straight(plain: Scripted, home: Path) -> None:
    with proxying(plain.port) as proxy:
        done = Bl(home, f"http://127.0.0.1:{plain.port}")(*GET, NO_PROXY="127.0.0.0/8", HTTP_PROXY=proxy.address)
        elsewhere = _through(home)(*GET, "--allow-http", NO_PROXY=".test", HTTP_PROXY=proxy.address)
    assert done.code == 0
    assert elsewhere.code == 4
    assert proxy.lines == []


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_row_37_407_is_four_and_says_proxy(plain: Scripted, secure: Scripted, home: Path, scheme: str) -> None:
    server = plain if scheme == "http" else secure
    with proxying(server.port, wants="joe:s3cret-word") as proxy:
        bl = _through(home, scheme)
        named = ("--cacert", str(authority().certificate), "--allow-http")
        refused = bl(*GET, *named, "--proxy", proxy.address, NO_PROXY="")
        allowed = bl(*GET, *named, "--proxy", proxy.address.replace("//", "//joe:s3cret-word@"), NO_PROXY="")
    assert refused.code == 4, refused
    assert "proxy" in refused.err and "407" in refused.err
    assert allowed.code == 0, allowed
    assert "s3cret" not in refused.err + allowed.err + allowed.out


def test_the_proxy_option_leads_to_loopback_too_and_wins_over_the_environment(plain: Scripted, home: Path) -> None:
    with proxying(plain.port) as proxy:
        done = Bl(home, plain.origin)(*GET, "--proxy", f"127.0.0.1:{proxy.port}", NO_PROXY="", HTTP_PROXY="http://127.0.0.1:9")
    assert done.code == 0, done
    assert len(proxy.lines) >= 1


def test_proxy_none_goes_straight(plain: Scripted, home: Path) -> None:
    done = Bl(home, plain.origin)(*GET, "--proxy", "none", NO_PROXY="", ALL_PROXY="http://127.0.0.1:9")
    assert done.code == 0, done


def test_a_proxy_that_speaks_tls(secure: Scripted, good: SelfSigned, home: Path) -> None:
    with proxying(secure.port, context=good.server_context()) as proxy:
        done = _through(home, "https")(*GET, "--cacert", str(authority().certificate), "--proxy", proxy.address, NO_PROXY="")
    assert done.code == 0, done
    assert proxy.lines[0].startswith("CONNECT bench.test:443")


def test_a_dead_proxy_is_four_and_says_proxy(home: Path) -> None:
    done = _through(home)(*GET, "--allow-http", "--proxy", "http://127.0.0.1:9", NO_PROXY="")
    assert done.code == 4
    assert "proxy" in done.err


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:9", "http://", "http://joe:s3cret-word@[bad"])
def test_an_unusable_proxy_is_two_without_its_credentials(home: Path, address: str) -> None:
    done = _through(home)(*GET, "--allow-http", "--proxy", address)
    assert done.code == 2, done
    assert "proxy" in done.err.lower() or "proxies" in done.err
    assert "s3cret" not in done.err


def test_clear_text_is_refused_but_on_this_machine(home: Path) -> None:
    done = Bl(home, "http://bench.test")(*GET)
    assert done.code == 2
    assert "clear text" in done.err and "--allow-http" in done.err
