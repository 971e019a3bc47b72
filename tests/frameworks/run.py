"""Runs a suite of this folder with pytest, in the environment that environment.py made: run.py SUITE --environment FOLDER --project
FOLDER --extension GLOVE.SO --convert GLOVE-CONVERT

The suite imports sqlite_glove as pip would install it. Skipped if there is no environment.
"""
import argparse
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
import installed

SKIPPED = 77


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("suite")
    for option in ("--environment", "--project", "--extension", "--convert"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    if os.environ.get("GLOVE_TEST_SHORT") or not os.path.exists(os.path.join(options.environment, "installed")):
        print("skipped: the frameworks are not installed; the test frameworks.environment says why")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        installed.install(options.project, options.extension, folder)
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore", "OPENBLAS_NUM_THREADS": "1",
                       "HAYSTACK_TELEMETRY_ENABLED": "False", "GLOVE_CONVERT": options.convert, "GLOVE_PROJECT": options.project}
        environment["PATH"] = os.path.join(options.environment, "bin") + os.pathsep + environment["PATH"]
        command = [os.path.join(options.environment, "bin", "python3"), "-m", "pytest", "-q", "-rsfE", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto",
                   os.path.join(os.path.dirname(os.path.abspath(__file__)), options.suite)]
        sys.exit(subprocess.run(command, env=environment, cwd=folder, check=False).returncode)


if __name__ == "__main__":
    main()
