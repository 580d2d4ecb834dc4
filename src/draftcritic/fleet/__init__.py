"""Drafts on their way to a review outside the process that wrote them."""
