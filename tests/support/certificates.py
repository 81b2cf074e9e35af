"""A certificate for 127.0.0.1 made on the fly, for servers that no default trust store knows."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class SelfSigned:
    """Paths of a PEM certificate, which can serve as its own trust anchor, and of its key."""

    certificate: Path
    key: Path

    def server_context(self) -> ssl.SSLContext:
        """The server's side of a TLS connection with this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context


@cache
def self_signed() -> SelfSigned:
    """One certificate a test process, in a temporary folder of its own."""
    folder = Path(mkdtemp(prefix="benchloop-tls-"))
    key = ec.generate_private_key(ec.SECP256R1())
    paths = SelfSigned(folder / "cert.pem", folder / "key.pem")
    paths.certificate.write_bytes(_certificate(key).public_bytes(serialization.Encoding.PEM))
    paths.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return paths


def _certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    )
    return builder.sign(key, hashes.SHA256())
