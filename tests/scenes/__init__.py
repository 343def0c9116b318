"""Scenes: what tests of several files, or many tests of one, are made from."""
