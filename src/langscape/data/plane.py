"""What a flat picture shows of places in more dimensions than two."""

from __future__ import annotations

import numpy as np

YAW, PITCH = 0.6, 0.4
"""How a map of three dimensions is turned before anybody turns it, in radians."""


def flat(xy: np.ndarray) -> np.ndarray:
    """What is drawn, shape (n, 2): the page's first sight of a 3-D map, else the first two axes.

    >>> flat(np.ones((4, 1))).shape, flat(np.ones((4, 3))).shape
    ((4, 2), (4, 2))
    """
    if xy.shape[1] == 1:
        return np.column_stack([xy[:, 0], np.zeros(len(xy))])
    if xy.shape[1] != 3:
        return xy[:, :2]
    turn_yaw = np.array([[np.cos(YAW), 0, np.sin(YAW)], [0, 1, 0], [-np.sin(YAW), 0, np.cos(YAW)]])
    turn_pitch = np.array([[1, 0, 0], [0, np.cos(PITCH), -np.sin(PITCH)], [0, np.sin(PITCH), np.cos(PITCH)]])
    centred = xy - xy.mean(axis=0) if len(xy) else xy
    return (centred @ (turn_pitch @ turn_yaw).T)[:, :2]
