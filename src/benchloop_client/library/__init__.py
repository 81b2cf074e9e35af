"""The Python face of `bl`: what a command does, as one call that returns plain records; import it as `benchloop_client.Client`."""
