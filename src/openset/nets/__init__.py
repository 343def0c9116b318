"""Nets: what all code that runs a network shares: device, processes, weights, pictures.

Detectors, their training and recognition stand on it. It knows no detector and no method.
"""
