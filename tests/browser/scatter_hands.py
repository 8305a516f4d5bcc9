"""What tests do with scatter pages: read pixels and saved files, search, draw a lasso."""

import numpy as np


def rgb(colour):
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def near(found, colour, within):
    return max(abs(a - b) for a, b in zip(found, rgb(colour), strict=True)) <= within


def downloaded(page, button):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button, exact=True).click()
    return waiting.value.suggested_filename, waiting.value.path().read_bytes()


def search_box(page):
    return page.get_by_label("Search labels")


def lasso(opened, corners):
    page = opened.page
    page.keyboard.down("Shift")
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in [*corners[1:], corners[0]]:
        page.mouse.move(*corner, steps=6)
    page.mouse.up()
    page.keyboard.up("Shift")


def around(opened, labels, pad=25):
    places = np.array([opened.at(label) for label in labels])
    (left, top), (right, bottom) = places.min(axis=0) - pad, places.max(axis=0) + pad
    return [(left, top), (right, top), (right, bottom), (left, bottom)]
