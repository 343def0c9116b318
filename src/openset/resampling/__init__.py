"""Resampling: how far would a number move, had other images of the same kind been drawn?

The bootstrap, in one room: `draws` says how often each image or sample is drawn, `images` computes
metrics of matches with these weights, `intervals` makes intervals and p-values of what comes out.
`trainings` adds what another training would have changed, where there are several of one method.
Detection and recognition share it, and all metrics and models of one seed see the same draws, so
that differences between models are paired.

Not an interval over data sets.
"""
