"""Whom a TLS connection trusts: the system's certificate authorities, and beside them those that a person named."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from benchloop_client.errors import ConfigError
from benchloop_client.settings import Settings, Trust


def context(settings: Settings) -> ssl.SSLContext:
    """A client's context. Raises `ConfigError`, with who named it, for a file or folder of certificates that cannot be used."""
    made = ssl.create_default_context()
    made.set_alpn_protocols(["http/1.1"])
    _trust_system(made)
    for trust in settings.trust:
        _add(made, trust)
    return made


def _trust_system(made: ssl.SSLContext) -> None:
    """OpenSSL takes `SSL_CERT_FILE` for the system's authorities; a company's bundle must not cost us all the others."""
    paths = ssl.get_default_verify_paths()
    cafile = paths.openssl_cafile if Path(paths.openssl_cafile).is_file() else None
    capath = paths.openssl_capath if Path(paths.openssl_capath).is_dir() else None
    if cafile or capath:
        made.load_verify_locations(cafile, capath)


def _add(made: ssl.SSLContext, trust: Trust) -> None:
    # A folder's variable may name several.
    paths = [Path(part) for part in trust.path.split(os.pathsep) if part] if trust.source == "SSL_CERT_DIR" else [Path(trust.path)]
    for path in paths:
        try:
            if path.is_dir():
                made.load_verify_locations(capath=path)
            else:
                made.load_verify_locations(cafile=path)
        except ssl.SSLError:
            raise ConfigError(f"{trust.source}: {path} holds no certificate in PEM form") from None
        except OSError as error:
            raise ConfigError(f"{trust.source}: {path} cannot be read: {error.strerror or error}") from None
