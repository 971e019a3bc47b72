"""Runs a test that takes long, or a fifth of it: share.py TEST [ARGUMENT...]

tests/run.sh sets GLOVE_TEST_SHORT unless it is called with --all. Then a script has a fifth of the steps, queries or kills that its
arguments name, and of its class's cases every fifth runs; a program of GoogleTest runs every fifth of its cases.
"""
import os
import runpy
import sys
import unittest

SHARE = 5
COUNTS = {"--steps", "--times", "--most", "--syncs", "--queries", "--statements"}
every_case = unittest.TestLoader.getTestCaseNames


def run(test, *arguments):
    if os.environ.get("GLOVE_TEST_SHORT"):
        arguments = [str(-(-int(value) // SHARE)) if before in COUNTS else value for before, value in zip((None, *arguments), arguments)]
        unittest.TestLoader.getTestCaseNames = lambda self, case: every_case(self, case)[::SHARE]
        os.environ |= {"GTEST_TOTAL_SHARDS": str(SHARE), "GTEST_SHARD_INDEX": "0"}
    if not test.endswith(".py"):
        os.execv(test, [test, *arguments])
    sys.argv = [test, *arguments]
    sys.path[0] = os.path.dirname(test)
    runpy.run_path(test, run_name="__main__")


run(*sys.argv[1:])
