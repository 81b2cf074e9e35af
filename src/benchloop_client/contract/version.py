"""The version of this distribution and of the protocol it speaks: the one place both are written."""

__version__ = "1.0.0"

#: Raised when a route of ours changes in a way that an older client cannot read.
API_VERSION = 1

#: What this server offers beyond the documented routes; the client asks once per origin and picks its path by it.
FEATURES = ("cursor", "group-lines", "members", "ranges", "upload")

#: How a key made by our server begins, and the request header that carries a key.
KEY_PREFIX = "blk_"
KEY_HEADER = "X-API-Key"
