"""Alembic's entry: run the migrations on the connection, and in the transaction, that `sql.migrate` opened."""

from alembic import context

from benchloop_server.sql.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
