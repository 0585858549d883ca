"""Files as file servers find them, on disk or in a git repository, and their digests."""
