"""What a Jacobian tells: inverse velocity, singularities, manipulability, statics, workspace."""
