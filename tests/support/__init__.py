"""What several tests need to look at the programs from outside: a server with scripted answers, and the programs themselves."""
