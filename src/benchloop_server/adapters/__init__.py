"""The real stores behind the protocols of `kit`; only `wiring` names them."""
