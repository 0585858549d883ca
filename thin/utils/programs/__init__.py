"""How programs and servers are called, and what the modules that call them share."""
