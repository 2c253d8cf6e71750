"""What a person with data calls."""
