"""The journal of events on the controller: durable, ordered, bounded. Salt: the event bus of a master."""
