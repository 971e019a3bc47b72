"""Says how many tests of ctest's --output-junit file passed, failed and were skipped, and why skipped: summary.py FILE"""
import collections
import re
import sys
import xml.etree.ElementTree


def reason(case):
    """What the test printed of it: `skipped: REASON`, or the line after GoogleTest's "Skipped"."""
    found = re.search(r"^skipped: (.*)|Skipped\n(.*)", case.findtext("system-out") or "", re.MULTILINE)
    return next(filter(None, found.groups()), "") if found else "it does not say why"


cases = xml.etree.ElementTree.parse(sys.argv[1]).findall("testcase")
reasons, failed = collections.defaultdict(list), []
for case in cases:
    if case.get("status") == "notrun" and case.find("skipped").get("message", "").startswith("SKIP"):
        reasons[reason(case)].append(case.get("name"))
    elif case.get("status") == "disabled":
        reasons["disabled"].append(case.get("name"))
    elif case.get("status") != "run":  # also where ctest could not run it
        failed.append(case.get("name"))
skipped = sum(map(len, reasons.values()))
print()
for why, names in sorted(reasons.items()):
    print("skipped: %s (%s)" % (names[0] if len(names) == 1 else "%d such as %s" % (len(names), names[0]), why))
for name in failed:
    print("failed: " + name)
print("%d passed, %d failed, %d skipped" % (len(cases) - len(failed) - skipped, len(failed), skipped))
