"""What modules and states say of themselves: signatures, effects, users' own; read from their source, not run."""
