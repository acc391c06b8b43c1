# SPDX-License-Identifier: Apache-2.0
"""Digits of 28×28 pixels, as in MNIST, but drawn here: nothing is downloaded.

Each is a small bitmap that is rotated, stretched, slanted, shifted, blurred and dirtied at random, so
that a network must learn to distinguish them."""

import math

import torch
from torch.nn import functional
from torch.utils.data import Dataset

SIDE = 28
SHAPES = """
.###.  ..#..  .###.  ####.  ...#.  #####  ..##.  #####  .###.  .###.
#...#  .##..  #...#  ....#  ..##.  #....  .#...  ....#  #...#  #...#
#...#  ..#..  ....#  ....#  .#.#.  ####.  #....  ...#.  #...#  #...#
#...#  ..#..  ..##.  .###.  #..#.  ....#  ####.  ..#..  .###.  .####
#...#  ..#..  .#...  ....#  #####  ....#  #...#  ..#..  #...#  ....#
#...#  ..#..  #....  ....#  ...#.  #...#  #...#  .#...  #...#  ...#.
.###.  .###.  #####  ####.  ...#.  .###.  .###.  .#...  .###.  .##..
"""


def bitmaps():
    """The ten shapes: 10 × 1 × 28 × 28, in the middle."""
    rows = [line.split() for line in SHAPES.split("\n") if line]
    small = torch.tensor([[[float(point == "#") for point in row[digit]] for row in rows]
                          for digit in range(10)])
    large = functional.interpolate(small[:, None], size=(20, 14), mode="bilinear")
    return functional.pad(large, (7, 7, 4, 4))


def transforms(count, generator):
    """The source of each pixel of a picture: count × 2 × 3, for affine_grid."""
    def between(low, high):
        return low + (high - low) * torch.rand(count, generator=generator)
    angle, slant = between(-0.35, 0.35), between(-0.3, 0.3)
    width, height = between(0.8, 1.3), between(0.8, 1.3)
    cosine, sine = torch.cos(angle), torch.sin(angle)
    top = torch.stack([width * cosine, slant - sine, between(-0.25, 0.25)], dim=1)
    bottom = torch.stack([sine, height * cosine, between(-0.25, 0.25)], dim=1)
    return torch.stack([top, bottom], dim=1)


def draw(count, seed):
    """(pictures of count × 1 × 28 × 28 bytes, the digits that they show)."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (count,), generator=generator)
    grid = functional.affine_grid(transforms(count, generator), (count, 1, SIDE, SIDE),
                                  align_corners=False)
    pictures = functional.grid_sample(bitmaps()[labels], grid, align_corners=False)
    pictures = pictures * (0.6 + 0.4 * torch.rand(count, 1, 1, 1, generator=generator))
    dirt = 0.15 * torch.randn(pictures.shape, generator=generator)
    return (255 * (pictures + dirt).clamp(0, 1)).to(torch.uint8), labels


class Digits(Dataset):
    """Drawn once; a sample is decoded from its bytes on request."""

    def __init__(self, count, seed):
        self.pictures, self.labels = draw(count, seed)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        picture = self.pictures[index].to(torch.float32).div_(255)
        return picture.sub_(0.1307).div_(0.3081), self.labels[index]


def as_text(picture):
    """One picture as lines of characters, to print it."""
    shades = " .:*#"
    return "\n".join("".join(shades[min(4, int(5 * point * 1.3))] for point in row)
                     for row in (picture.float() / 255)[0].tolist())


def main():
    pictures, labels = draw(3, seed=math.floor(torch.rand(()).item() * 1000))
    for picture, label in zip(pictures, labels):
        print(f"{as_text(picture)}\n{label.item()}")


if __name__ == "__main__":
    main()
