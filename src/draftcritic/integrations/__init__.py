"""Ways into the critic for other frameworks."""
