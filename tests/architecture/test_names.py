"""No name of a test is longer than 60 characters, because ctest pads each line to the longest: test_names.py CTEST BUILD"""
import json
import subprocess
import sys

MOST = 60

listed = subprocess.run([sys.argv[1], "--test-dir", sys.argv[2], "--show-only=json-v1"], stdout=subprocess.PIPE, check=True)
names = [test["name"] for test in json.loads(listed.stdout)["tests"]]
long = [name for name in names if len(name) > MOST]
if len(names) < 100 or long:
    sys.exit("of %d tests, these have names of more than %d characters; shorten them: %s" % (len(names), MOST, ", ".join(long)))
