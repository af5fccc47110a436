"""Tests of what a person does, in a real browser."""
