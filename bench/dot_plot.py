"""A dot plot in SVG: times on a logarithmic axis, a row per search. A dot, unlike a bar, has no length that such an axis would distort."""
import math
from xml.sax.saxutils import escape

# Each colour has a contrast of at least 4 with both white and GitHub's dark background (tests/docs/test_speed_plot.py).
TEXT, GRID, OURS, OTHER = "#76777a", "#76777a", "#1f7fd6", "#76777a"
WIDTH, RIGHT, ROW, CHARACTER = 800, 130, 22, 7.6


def ms(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def dot_plot(title, groups):
    """groups: [(heading, [(name, milliseconds, recall)])]. Names that begin with sqlite-glove or glove_index are ours."""
    rows = [row for _, rows in groups for row in rows]
    left = 20 + CHARACTER * max(len(name) for name, _, _ in rows)
    first, last = (f(math.log10(end(time for _, time, _ in rows))) for f, end in ((math.floor, min), (math.ceil, max)))

    def x(milliseconds):
        return left + (WIDTH - left - RIGHT) * (math.log10(milliseconds) - first) / (last - first)
    lines, y = [], 44
    for heading, shown in groups:
        lines.append(f'<text x="{left}" y="{y}" fill="{TEXT}">{escape(heading)}</text>')
        for name, time, recall in sorted(shown, key=lambda row: row[1]):
            y += ROW
            ours = name.startswith(("sqlite-glove", "glove_index"))
            colour, weight = (OURS, ' font-weight="bold"') if ours else (OTHER, "")
            note = "exact" if recall > 0.99999 else f"recall {recall:.3f}"
            lines += [f'<text x="{left - 12:g}" y="{y + 4}" text-anchor="end" fill="{colour}"{weight}>{escape(name)}</text>',
                      f'<circle cx="{x(time):.1f}" cy="{y}" r="5" fill="{colour}"/>',
                      f'<text x="{x(time) + 10:.1f}" y="{y + 4}" fill="{colour}"{weight}>{ms(time)} ms, {note}</text>']
        y += 2 * ROW
    bottom = y - ROW - 6
    for exponent in range(first, last + 1):
        at = f"{x(10.0**exponent):.1f}"
        lines += [f'<line x1="{at}" x2="{at}" y1="30" y2="{bottom}" stroke="{GRID}" stroke-opacity="0.35"/>',
                  f'<text x="{at}" y="{bottom + 18}" text-anchor="middle" fill="{TEXT}">{10.0**exponent:g}</text>']
    lines.append(f'<text x="{(left + WIDTH - RIGHT) / 2:.1f}" y="{bottom + 40}" text-anchor="middle" fill="{TEXT}">'
                 "milliseconds per query, logarithmic: further left is faster</text>")
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 52}" width="{WIDTH}" height="{bottom + 52}" font-family="sans-serif" '
        'font-size="13">', f"<title>{escape(title)}</title>", f'<text x="20" y="18" font-weight="bold" fill="{TEXT}">{escape(title)}</text>', *lines,
        "</svg>"]) + "\n"
