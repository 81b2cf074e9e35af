"""Jobs: listing, reading, and the batches in which a push commits them."""
