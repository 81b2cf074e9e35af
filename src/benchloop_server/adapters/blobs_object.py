"""Blobs in an object store (S3 and what speaks like it, or memory), through `obstore`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import MemoryStore, S3Store

from benchloop_client.contract.ids import SHA256
from benchloop_server.kit.blobs import CHUNK, BlobMissing, check_range

#: Larger objects go up in parts. Parts cannot be conditional, but two writers of one name write the same bytes.
_MULTIPART_BYTES = 64 * 1024 * 1024


class ObjectBlobs:
    """A `BlobStore` in `store`, as `<prefix>blobs/<ab>/<cd>/<sha256>`."""

    def __init__(self, store: S3Store | MemoryStore, prefix: str = "") -> None:
        self._store = store
        self.kind = "s3" if isinstance(store, S3Store) else "memory"
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""

    def put_bytes(self, sha256: str, data: bytes) -> bool:
        """See `BlobStore`."""
        path = self._path(sha256)
        if len(data) > _MULTIPART_BYTES:
            return not self.exists(sha256) and self._put_large(path, data)
        try:
            obstore.put(self._store, path, data, mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
        return True

    def put_file(self, sha256: str, path: Path) -> bool:
        """See `BlobStore`."""
        if path.stat().st_size <= _MULTIPART_BYTES:
            return self.put_bytes(sha256, path.read_bytes())
        return not self.exists(sha256) and self._put_large(self._path(sha256), path)

    def read(self, sha256: str, *, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
        """See `BlobStore`."""
        wanted = check_range(self.size(sha256), offset=offset, length=length)
        return self._chunks(sha256, offset, wanted) if wanted else iter(())

    def size(self, sha256: str) -> int:
        """See `BlobStore`."""
        try:
            return int(obstore.head(self._store, self._path(sha256))["size"])
        except FileNotFoundError:
            raise BlobMissing(sha256) from None

    def exists(self, sha256: str) -> bool:
        """See `BlobStore`."""
        try:
            self.size(sha256)
        except BlobMissing:
            return False
        return True

    def aged(self, before: float) -> Iterator[tuple[str, int]]:
        """See `BlobStore`."""
        for page in obstore.list(self._store, f"{self._prefix}blobs/"):
            for entry in page:
                name = entry["path"].rpartition("/")[2]
                if entry["last_modified"].timestamp() < before and SHA256.match(name):
                    yield name, int(entry["size"])

    def link(self, sha256: str, *, seconds: int) -> str | None:
        """See `BlobStore`. The signature covers this one object and the time, and no range: the asker adds that."""
        if not isinstance(self._store, S3Store):
            return None
        return str(obstore.sign(self._store, "GET", self._path(sha256), timedelta(seconds=seconds)))

    def delete(self, sha256: str) -> None:
        """See `BlobStore`."""
        try:
            obstore.delete(self._store, self._path(sha256))
        except FileNotFoundError:
            return

    def _put_large(self, path: str, content: bytes | Path) -> bool:
        obstore.put(self._store, path, content, use_multipart=True)
        return True

    def _chunks(self, sha256: str, offset: int, wanted: int) -> Iterator[bytes]:
        answer = obstore.get(self._store, self._path(sha256), options={"range": (offset, offset + wanted)})
        received = 0
        for chunk in answer.stream(min_chunk_size=CHUNK):
            data = bytes(chunk)
            received += len(data)
            yield data
        if received != wanted:
            raise OSError(f"the object store gave {received} bytes of blob {sha256} instead of {wanted}")

    def _path(self, sha256: str) -> str:
        if not SHA256.match(sha256):
            raise ValueError(f"{sha256!r} is not the name of a blob")
        return f"{self._prefix}blobs/{sha256[:2]}/{sha256[2:4]}/{sha256}"
