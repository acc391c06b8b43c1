# SPDX-License-Identifier: Apache-2.0
"""Colours of annotations."""

# The names of nvtx and matplotlib, with the values of CSS.
_NAMES = {
    "black": 0x000000, "white": 0xFFFFFF, "gray": 0x808080, "grey": 0x808080, "silver": 0xC0C0C0,
    "red": 0xFF0000, "darkred": 0x8B0000, "crimson": 0xDC143C, "tomato": 0xFF6347,
    "salmon": 0xFA8072, "coral": 0xFF7F50, "orange": 0xFFA500, "darkorange": 0xFF8C00,
    "gold": 0xFFD700, "yellow": 0xFFFF00, "khaki": 0xF0E68C, "olive": 0x808000,
    "green": 0x008000, "lime": 0x00FF00, "darkgreen": 0x006400, "limegreen": 0x32CD32,
    "seagreen": 0x2E8B57, "teal": 0x008080, "turquoise": 0x40E0D0, "cyan": 0x00FFFF,
    "aqua": 0x00FFFF, "skyblue": 0x87CEEB, "steelblue": 0x4682B4, "blue": 0x0000FF,
    "navy": 0x000080, "darkblue": 0x00008B, "royalblue": 0x4169E1, "indigo": 0x4B0082,
    "violet": 0xEE82EE, "orchid": 0xDA70D6, "purple": 0x800080, "rapids": 0x7400FF,
    "magenta": 0xFF00FF, "fuchsia": 0xFF00FF, "pink": 0xFFC0CB, "hotpink": 0xFF69B4,
    "brown": 0xA52A2A, "maroon": 0x800000, "chocolate": 0xD2691E, "tan": 0xD2B48C,
}


def argb(color):
    """0xAARRGGBB of a name, "#rgb", "#rrggbb", "#rrggbbaa", or a number (0xRRGGBB, 0xAARRGGBB).

    Raises ValueError for an unknown colour, TypeError for a value that is neither a str nor an int."""
    if isinstance(color, str):
        return _of_text(color)
    if isinstance(color, int) and not isinstance(color, bool):
        if not 0 <= color <= 0xFFFFFFFF:
            raise ValueError(f"a colour number is 0xRRGGBB or 0xAARRGGBB, not {color:#x}")
        return color if color > 0xFFFFFF else color | 0xFF000000
    raise TypeError(f"color must be a str or an int, not {type(color).__name__}")


def _of_text(text):
    if text.startswith("#"):
        digits = text[1:]
        if len(digits) == 3:
            digits = "".join(2 * digit for digit in digits)
        try:
            if len(digits) == 6:
                return int(digits, 16) | 0xFF000000
            if len(digits) == 8:
                return int(digits[6:] + digits[:6], 16)
        except ValueError:
            pass
    elif text.lower() in _NAMES:
        return _NAMES[text.lower()] | 0xFF000000
    raise ValueError(f"{text!r} is not a colour: use a name such as \"red\", \"#rrggbb\" or 0xRRGGBB")
