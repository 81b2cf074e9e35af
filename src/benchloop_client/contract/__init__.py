"""What client and server agree on: shapes, operations, ids, errors and the normal form of a trajectory. Imports neither side."""
