"""The journal of events on the controller: durable, ordered, limited in size. Salt: the event bus of a master."""
