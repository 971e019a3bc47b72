"""The figures of speed in README.md and the plots are those of bench/data, and the plots can be read on any background: test_speed_plot.py PROJECT"""
import json
import pathlib
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

PROJECT = pathlib.Path(sys.argv.pop(1))
BACKGROUNDS = ("#ffffff", "#0d1117")  # GitHub's light and dark themes
LEAST_CONTRAST = 4.0


def luminance(colour):
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class SpeedPlot(unittest.TestCase):
    def test_is_up_to_date(self):
        for script in ("readme_table.py", "scale_plot.py"):
            result = subprocess.run([sys.executable, PROJECT / "bench" / script, "--check"], capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)

    def test_has_a_dot_for_each_search(self):
        speed = json.loads((PROJECT / "bench/data/speed.json").read_text(encoding="utf-8"))
        svg = (PROJECT / "bench/data/speed.svg").read_text(encoding="utf-8")
        searches = [row for group in speed["groups"] for row in group["searches"]]
        self.assertEqual(svg.count("<circle"), len(searches))
        self.assertIn("milliseconds per query, logarithmic", svg)
        results = (PROJECT / "bench/RESULTS.md").read_text(encoding="utf-8")
        for name, time, recall in searches:
            self.assertIn(f">{name}<", svg)
            self.assertRegex(results, rf"\b{time:g}".replace(".", r"\.") + (rf": {recall:.3f}".replace("0.", r"\.") if recall < 1 else r"\b"))

    def test_can_be_read_on_light_and_dark(self):
        for plot in ("speed.svg", "peers.svg", "scale.svg"):
            with self.subTest(plot=plot):
                self.check_colours((PROJECT / "bench/data" / plot).read_text(encoding="utf-8"))

    def check_colours(self, svg):
        root = xml.etree.ElementTree.fromstring(svg)
        self.assertIn("circle", {element.tag.rpartition("}")[2] for element in root.iter()})
        texts = [element for element in root.iter() if element.tag.endswith("text")]
        self.assertTrue(texts and all(element.get("fill") for element in texts), "the default colour is black")
        for colour in set(re.findall(r'(?:fill|stroke)="([^"]+)"', svg)):
            for background in BACKGROUNDS:
                self.assertGreaterEqual(contrast(colour, background), LEAST_CONTRAST, f"{colour} on {background}")


if __name__ == "__main__":
    unittest.main()
