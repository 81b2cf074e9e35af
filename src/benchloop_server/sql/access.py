"""The part of the schema that says who may see what, and who changed what; `sql.tables` stands on it. Times are as there."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKeyConstraint, Index, Integer, MetaData, Table, Text, UniqueConstraint

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def id_column(name: str) -> Column[str]:
    """A part of the primary key."""
    return Column(name, Text, primary_key=True)


def text_column(name: str) -> Column[str]:
    """A text that is always there."""
    return Column(name, Text, nullable=False)


def time_column(name: str) -> Column[int]:
    """A time that is always there."""
    return Column(name, BigInteger, nullable=False)


#: Who may see what: a key belongs to a user in a workspace.
workspaces = Table("workspaces", metadata, id_column("workspace_id"), time_column("created_at"))

users = Table(
    "users",
    metadata,
    id_column("workspace_id"),
    id_column("user"),
    time_column("created_at"),
    ForeignKeyConstraint(["workspace_id"], ["workspaces.workspace_id"]),
)

#: `hash` is the SHA-256 of the key, which is kept nowhere; `hint` its first characters; `scopes` a comma list.
keys = Table(
    "keys",
    metadata,
    id_column("key_id"),
    text_column("workspace_id"),
    text_column("user"),
    text_column("name"),
    text_column("hash"),
    text_column("hint"),
    text_column("scopes"),
    time_column("created_at"),
    Column("revoked_at", BigInteger),
    Column("expires_at", BigInteger),
    Column("last_used_at", BigInteger),
    UniqueConstraint("hash"),
    ForeignKeyConstraint(["workspace_id", "user"], ["users.workspace_id", "users.user"]),
)

#: Browsers that are signed in with a key, and worth as much as it is. `hash` is the SHA-256 of what the cookie holds; `former_hash` of what
#: it held before `rotated_at`, for the requests that were under way.
sessions = Table(
    "sessions",
    metadata,
    id_column("session_id"),
    text_column("workspace_id"),
    text_column("key_id"),
    text_column("hash"),
    Column("former_hash", Text),
    time_column("created_at"),
    time_column("rotated_at"),
    time_column("expires_at"),
    UniqueConstraint("hash"),
    ForeignKeyConstraint(["key_id"], ["keys.key_id"]),
    Index(None, "former_hash"),
)

#: Who changed what; rows are only added.
audit = Table(
    "audit",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    time_column("at"),
    text_column("workspace_id"),
    text_column("user"),
    text_column("key_id"),
    text_column("action"),
    text_column("subject"),
    text_column("detail_json"),
    Index(None, "workspace_id", "at"),
)
