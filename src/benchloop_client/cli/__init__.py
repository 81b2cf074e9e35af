"""The terminal: options in, one action called, its report shown. Nobody imports this room."""
