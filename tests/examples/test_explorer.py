"""The page of `apt_search.py explore` in a headless Chromium: typing, clicking, and what it shows compared with SQL.

test_explorer.py --extension GLOVE.SO --convert GLOVE-CONVERT --project DIR

Skipped if there is no Chromium (Debian's chromium-headless-shell or chromium).
"""
import argparse
import json
import os
import select
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

SKIPPED = 77
PROGRAMS = ("chromium-headless-shell", "chromium")
SECONDS = 60  # for an answer of the browser

# Packages whose names and descriptions are markup; and words of the model, so that they have vectors.
HOSTILE = [
    ("a<b>bold</b>", "<script>document.title='broken'</script> games & \"quotes\" of an emulator"),
    ("b&amp;'\"", "</script><img src=x onerror=\"document.title='broken'\"> emulator of old games"),
    ("c{{packages}}\\u003c", "a music player <!-- for the desktop --> \u2028 and </title>"),
]


class Browser:
    """A page in a headless Chromium, by the DevTools protocol over a pair of pipes."""

    def __init__(self, program, folder):
        to_browser, self.requests = os.pipe()
        self.answers, from_browser = os.pipe()
        # The protocol's pipes must be descriptors 3 and 4.
        command = (f'exec 3<&{to_browser} 4>&{from_browser}; exec "$0" "$@"')
        self.process = subprocess.Popen(
            ["bash", "-c", command, program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
             "--window-size=1200,800", "--user-data-dir=" + os.path.join(folder, "profile"), "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.count = 0
        self.session = None
        self.events = []
        target = next(each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.requests)
        os.close(self.answers)

    def read(self):
        """The next message."""
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], SECONDS)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.answers, 1 << 16)
            if not piece:
                raise EOFError("the browser has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        os.write(self.requests, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def events_of(self, method):
        return [event["params"] for event in self.events if event.get("method") == method]

    def open(self, url):
        """Without a load if only what follows # changes."""
        self.events.clear()
        loads = "loaderId" in self.call("Page.navigate", url=url)
        while loads and not self.events_of("Page.loadEventFired"):
            self.events.append(self.read())

    def value(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_until(self, script):
        end = time.monotonic() + SECONDS
        while not self.value(script):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {script}")
            time.sleep(0.02)

    def type(self, text):
        for character in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", text=character)
            self.call("Input.dispatchKeyEvent", type="keyUp")

    def click_at(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def click(self, selector):
        x, y = self.value(f"""(() => {{ const one = document.querySelector({json.dumps(selector)}); one.scrollIntoView({{block: "center"}});
                               const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()""")
        self.click_at(x, y)

    def lines(self, selector):
        """(name, synopsis, note) of each line of a list."""
        return self.value(f"""[...document.querySelectorAll({json.dumps(selector + " button")})].map(each => [
                              each.querySelector("b").textContent, each.lastChild.textContent.slice(1), each.querySelector("i").textContent])""")


class Explorer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="glove-explorer-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        path = lambda name: os.path.join(cls.folder, name)
        model = path("sample.safetensors")
        subprocess.run([OPTIONS.convert, "--quiet", os.path.join(OPTIONS.project, "examples/data/glove-6b-100d-20k.txt.gz"), model], check=True)
        with open(path("hostile"), "w", encoding="utf-8") as file:
            file.write("\n\n".join(f"Package: {name}\nDescription: {synopsis}" for name, synopsis in HOSTILE))
        apt_search = os.path.join(OPTIONS.project, "examples/apt-search/apt_search.py")
        environment = {**os.environ, "GLOVE_MODEL": model, "GLOVE_EXTENSION": OPTIONS.extension}
        for arguments in (["build", path("packages.db"), os.path.join(OPTIONS.project, "examples/apt-search/sample.gz"), path("hostile")],
                          ["explore", path("packages.db"), path("explorer.html")]):
            subprocess.run([sys.executable, "-B", apt_search, *arguments], check=True, env=environment, stdout=subprocess.DEVNULL)
        cls.database = sqlite3.connect(path("packages.db"))
        cls.addClassCleanup(cls.database.close)
        cls.database.enable_load_extension(True)
        cls.database.load_extension(OPTIONS.extension)
        cls.database.execute("SELECT glove_load_table('packages', 'SELECT id, vector FROM package WHERE vector IS NOT NULL')")
        cls.url = "file://" + path("explorer.html")
        cls.browser = Browser(OPTIONS.browser, cls.folder)
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.open("about:blank")
        self.browser.open(self.url)

    def tearDown(self):
        self.assertEqual(self.browser.events_of("Runtime.exceptionThrown"), [])
        requested = [event["request"]["url"] for event in self.browser.events_of("Network.requestWillBeSent")]
        self.assertEqual([url for url in requested if not url.startswith(self.url)], [], "the page asks the network")

    def packages(self):
        """(name, synopsis) of each package that has a vector."""
        return self.database.execute("SELECT name, synopsis FROM package WHERE vector IS NOT NULL").fetchall()

    def neighbors(self, name):
        """What glove_nn finds, as the page should show it."""
        rows = self.database.execute(
            "SELECT p.name, p.synopsis, printf('%.3f', n.similarity) FROM glove_nn n JOIN package p ON p.id = n.neighbor "
            "WHERE n.word = (SELECT id FROM package WHERE name = ?) AND n.k = 8 AND n.model = 'packages' ORDER BY n.rank", (name,))
        return [list(row) for row in rows]

    def expect_chosen(self, name):
        self.assertEqual(self.browser.value("document.getElementById('name').textContent"), name)
        self.assertEqual(self.browser.value("document.getElementById('synopsis').textContent"), dict(self.packages())[name])
        self.assertEqual(self.browser.lines("#neighbors"), self.neighbors(name))
        self.assertEqual(self.browser.value("decodeURIComponent(location.hash)"), "#" + name)

    def search(self, question):
        """Types a question and returns the names that are shown; compares them with the packages that have its words."""
        self.browser.value("document.getElementById('search').value = ''")
        self.browser.click("#search")
        self.browser.type(question)
        shown = [name for name, _, _ in self.browser.lines("#results")]
        words = question.lower().split()
        found = [name for name, synopsis in self.packages() if all(word in (name + " " + synopsis).lower() for word in words)]
        self.assertEqual(self.browser.value("document.getElementById('count').textContent"), f"{len(found)} of {len(self.packages())} packages")
        self.assertEqual(len(shown), min(20, len(found)))
        self.assertLessEqual(set(shown), set(found))
        return shown

    def test_typing_finds_packages(self):
        self.assertEqual(self.browser.value("document.getElementById('count').textContent"), f"{len(self.packages())} packages")
        self.assertIn("dolphin-emu", self.search("Emulator"))
        self.assertEqual(self.search("nestopia")[0], "nestopia")
        self.assertEqual(self.search("no such package"), [])
        self.assertEqual(len(self.search("e")), 20)

    def test_clicking_shows_the_neighbors_of_glove_nn(self):
        self.search("nestopia")
        self.browser.click("#results button")
        self.expect_chosen("nestopia")
        for _ in range(3):  # from neighbour to neighbour
            name = self.browser.lines("#neighbors")[1][0]
            self.browser.click("#neighbors li:nth-child(2) button")
            self.expect_chosen(name)

    def test_the_map_shows_the_places_of_glove_map(self):
        places = {number: (x, y) for number, x, y in
                  self.database.execute("SELECT CAST(word AS INTEGER), round(x, 4), round(y, 4) FROM glove_map WHERE model = 'packages'")}
        shown = {number: (x, y) for number, x, y in self.browser.value("packages.map(one => [one.id, one.x, one.y])")}
        self.assertEqual(shown, places)
        # The rightmost package has no other near it in the sample, so a click there chooses it.
        name = self.browser.value("packages.reduce((a, b) => a.x > b.x ? a : b).name")
        x, y = self.browser.value("""(() => { const one = packages.reduce((a, b) => a.x > b.x ? a : b), [x, y] = position(one),
                                     box = canvas.getBoundingClientRect(); return [box.x + x, box.y + y]; })()""")
        before = self.browser.value("canvas.toDataURL()")
        self.browser.click_at(x, y)
        self.expect_chosen(name)
        self.assertNotEqual(self.browser.value("canvas.toDataURL()"), before)

    def test_an_address_chooses_a_package(self):
        self.browser.open(self.url + "#nestopia")  # the page hears of it as an event
        self.browser.wait_until("document.getElementById('name').textContent === 'nestopia'")
        self.expect_chosen("nestopia")
        self.browser.open("about:blank")
        self.browser.open(self.url + "#dolphin-emu")
        self.expect_chosen("dolphin-emu")

    def test_markup_in_names_and_descriptions_is_text(self):
        for name, synopsis in HOSTILE:
            self.assertEqual(self.search(name)[0], name)
            self.browser.click("#results button")
            self.expect_chosen(name)
            self.assertEqual(self.browser.value("document.getElementById('synopsis').textContent"), synopsis)
        self.assertEqual(self.browser.value("document.title"), "Debian's packages by meaning")
        self.assertEqual(self.browser.value("document.querySelectorAll('img').length"), 0)
        self.assertEqual(self.browser.value("document.querySelectorAll('script').length"), 2)


def main():
    parser = argparse.ArgumentParser()
    for option in ("--extension", "--convert", "--project"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    options.browser = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if options.browser is None:
        print("SKIPPED: there is no Chromium here (chromium-headless-shell)")
        sys.exit(SKIPPED)
    return options


if __name__ == "__main__":
    OPTIONS = main()
    unittest.main(argv=sys.argv[:1])
