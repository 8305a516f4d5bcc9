"""What interventions may honestly claim, measured."""
