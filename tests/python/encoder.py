"""A neural model and the library that runs it, for tests of the clients.

GLOVE_TEST_ENCODER names the folder of a model; without it, tests/neural makes a small one with random weights. GLOVE_ONNXRUNTIME names
the library; without it, that of the package onnxruntime is taken, or else tests/neural's library that looks like it.
"""
import glob
import importlib.util
import os
import shutil
import subprocess
import sys


def library(project, folder):
    """The path of a library, or None."""
    if os.environ.get("GLOVE_ONNXRUNTIME"):
        return os.environ["GLOVE_ONNXRUNTIME"]
    spec = importlib.util.find_spec("onnxruntime")
    for package in spec.submodule_search_locations if spec else ():
        for found in glob.glob(os.path.join(package, "capi/libonnxruntime.so*")):
            return found
    source, compiled = os.path.join(project, "tests/neural/fake_onnxruntime.c"), os.path.join(folder, "libfake_onnxruntime.so")
    if shutil.which("cc") is None or not os.path.exists(source):
        return None
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", compiled, source], check=True)
    return compiled


def model(project, folder):
    """The path of a model's folder, or None."""
    if os.environ.get("GLOVE_TEST_ENCODER"):
        return os.environ["GLOVE_TEST_ENCODER"]
    source, made = os.path.join(project, "tests/neural/make_model.py"), os.path.join(folder, "tiny-encoder")
    if importlib.util.find_spec("numpy") is None or not os.path.exists(source):
        return None
    subprocess.run([sys.executable, "-B", source, made], check=True)
    return made


def find(project, folder):
    """The paths of both. Where there are none, it says why and ends the process as skipped."""
    found = library(project, folder), model(project, folder)
    if None in found:
        print("skipped: GLOVE_ONNXRUNTIME names no library and onnxruntime is not installed (pip install onnxruntime)" if found[0] is None
              else "skipped: GLOVE_TEST_ENCODER names no model's folder, and NumPy, which makes one, is not installed")
        sys.exit(77)
    return found
