"""The version of this distribution and of the protocol it speaks: the one place both are written."""

__version__ = "1.0.0"

#: The distribution, and the project's own address: `[project.urls]` of pyproject.toml says the same. An index that holds another project
#: under our name is told from ours by it.
DISTRIBUTION = "benchloop_client"
PROJECT_URL = "https://benchloop.example/"

#: Raised when a route of ours changes in a way that an older client cannot read.
API_VERSION = 1

#: What this server offers beyond the documented routes; the client asks once per origin and picks its path by it.
FEATURES = ("bulk", "cursor", "filters", "group-edit", "group-lines", "members", "ranges", "upload", "whoami")

#: In the `Prefer` header: a client that follows redirects to signed addresses asks for them with it.
LINKS_PREFERENCE = "benchloop-links"

#: How a key made by our server begins, and the request header that carries a key.
KEY_PREFIX = "blk_"
KEY_HEADER = "X-API-Key"
#: The header of a POST that may be repeated: made once for what the caller wants, the same in every repetition.
ONCE_HEADER = "Idempotency-Key"
