"""Certificates made on the fly, for servers that no default trust store knows: one that vouches for itself, and those of an authority."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

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
def _folder() -> TemporaryDirectory[str]:
    """Where a test process keeps its certificates; it goes when the process ends."""
    return TemporaryDirectory(prefix="benchloop-tls-")


@cache
def self_signed() -> SelfSigned:
    """One certificate a test process."""
    folder = Path(_folder().name)
    key = ec.generate_private_key(ec.SECP256R1())
    paths = SelfSigned(folder / "cert.pem", folder / "key.pem")
    paths.certificate.write_bytes(_certificate(key).public_bytes(serialization.Encoding.PEM))
    _write_key(paths.key, key)
    return paths


@dataclass(frozen=True)
class Authority:
    """A certificate authority of the tests' own; `certificate` is its PEM file."""

    folder: Path
    certificate: Path
    key: ec.EllipticCurvePrivateKey
    name: x509.Name

    def issue(self, name: str, *, names: tuple[str, ...], ends: dt.timedelta = dt.timedelta(days=60)) -> SelfSigned:
        """A server's certificate for DNS names and addresses; `ends` counts from now and may be past."""
        key = ec.generate_private_key(ec.SECP256R1())
        paths = SelfSigned(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        now = dt.datetime.now(dt.timezone.utc)
        alternatives = [x509.IPAddress(ipaddress.ip_address(other)) if other[0].isdigit() else x509.DNSName(other) for other in names]
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])]))
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=30))
            .not_valid_after(now + ends)
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
        )
        paths.certificate.write_bytes(builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        _write_key(paths.key, key)
        return paths


@cache
def authority() -> Authority:
    """One authority a test process."""
    folder = Path(_folder().name)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Tests of Benchloop"), x509.NameAttribute(NameOID.COMMON_NAME, "CA")])
    now = dt.datetime.now(dt.timezone.utc)
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=60))
        .not_valid_after(now + dt.timedelta(days=365))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    certificate = folder / "ca.pem"
    certificate.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    return Authority(folder, certificate, key, name)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


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
