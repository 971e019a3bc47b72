"""Checks the other outputs of glove-verify: formats.py PROGRAM PTX"""

import json
import subprocess
import sys
import tempfile

# Matrix products take numbers and a predicate. A kernel that has one of a transposed matrix is unsupported, and the others of its
# file are not.
WGMMA = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry product() .maxntid 128, 1, 1 {
  .reg .f32 %f<5>; .reg .b64 %rd<3>; .reg .pred %p<2>;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, 1, 0, 1;
  ret;
}
.visible .entry nothing() .maxntid 128, 1, 1 { ret; }
"""
PROBES = "^(race_no_barrier|ok_barrier|unsupported_mbarrier)$"


def main(program, ptx):
    def run(*options):
        return subprocess.run([program, "--kernel", PROBES, *options, ptx], capture_output=True, text=True)

    verdicts = json.loads(run("--format", "json").stdout)["verdicts"]
    assert {verdict["file"] for verdict in verdicts} == {ptx}, verdicts
    found = {verdict["kernel"]: verdict for verdict in verdicts}
    assert {name: verdict["exit_code"] for name, verdict in found.items()} == {
        "race_no_barrier": 1, "ok_barrier": 0, "unsupported_mbarrier": 3}, found
    races = [finding for finding in found["race_no_barrier"]["findings"] if finding["kind"] == "race"]
    assert len(races) == 1 and races[0]["definite"] and races[0]["site"]["source"][0]["line"] == 11, races
    assert found["ok_barrier"]["findings"] == [] and found["ok_barrier"]["verdict"] == "proved"

    log = json.loads(run("--format", "sarif").stdout)
    results = log["runs"][0]["results"]
    assert log["version"] == "2.1.0" and len(results) == 3, log
    assert log["runs"][0]["invocations"] == [{"executionSuccessful": True}], log
    unread = subprocess.run([program, "--format", "sarif", ptx + ".missing"], capture_output=True, text=True)
    assert unread.returncode == 4 and not json.loads(unread.stdout)["runs"][0]["invocations"][0]["executionSuccessful"]
    rules = {rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    assert rules == {result["ruleId"] for result in results} == {"race", "undefined-read", "unsupported"}, rules
    for result in results:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "probes.cu" and place["region"]["startLine"] > 0, result

    # A list is a launch file, which the program reads.
    listed = run("--list")
    assert listed.returncode == 0 and listed.stdout.count("[[launch]]") == 3, listed
    for line in ("# ok_barrier: 4096 bytes of shared memory, ", "kernel = '^ok_barrier$'", "block = [64, 1, 1]",
                 "  # { index = 0, u64 = NUMBER },  # offset 0, u64; of a pointer write buffer = 'NAME'"):
        assert line in listed.stdout, (line, listed.stdout)
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(listed.stdout)
        file.flush()
        filled = subprocess.run([program, "--launch", file.name, "--kernel", "^ok_barrier$", ptx], capture_output=True, text=True)
        assert "ok_barrier: DEFECT (block 64, grid 2; " in filled.stdout, filled

    # Findings that are allowed do not count, and viewers see that they were suppressed.
    twin = [program, "--kernel", "^race_blocks$", "--grid", "2", ptx]
    assert subprocess.run(twin, capture_output=True).returncode == 1
    allowed = subprocess.run([*twin, "--allow", "race-of-equal-values", "--format", "sarif"], capture_output=True, text=True)
    result = json.loads(allowed.stdout)["runs"][0]["results"][0]
    assert allowed.returncode == 0 and result["level"] == "note" and result["suppressions"][0]["kind"] == "external", result
    assert len(result["partialFingerprints"]["gloveVerify/v1"]) == 16, result
    rule = log["runs"][0]["tool"]["driver"]["rules"][0]
    assert rule["fullDescription"]["text"] and rule["defaultConfiguration"]["level"] == "error", rule

    # Parameters by index on the command line, and the limit of memory.
    given = subprocess.run([program, "--kernel", "^divergence_early_exit_n$", "--param", "1=64", ptx], capture_output=True, text=True)
    assert given.returncode == 0, given
    missing = subprocess.run([program, "--kernel", "^divergence_early_exit_n$", ptx], capture_output=True, text=True)
    assert missing.returncode == 2 and "parameter 1 (offset 8, u32)" in missing.stdout, missing
    small = subprocess.run([program, "--kernel", "^unproved_compaction$", "--memory-limit", "1", ptx], capture_output=True, text=True)
    assert "the memory limit ended the search" in small.stdout, small

    explained = run("--explain").stdout
    assert "through no barrier" in explained and "neither thread has come through one" in explained, explained
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(WGMMA)
        file.flush()
        for kernel, status in (("product", 3), ("nothing", 0)):
            result = subprocess.run([program, "--kernel", kernel, file.name], capture_output=True, text=True)
            assert result.returncode == status and f"{kernel}: " in result.stdout, result

    assert run("--format", "xml").returncode == 4
    for wrong in (["--name", "("], ["--kernel", "["]):
        complaint = subprocess.run([program, *wrong, ptx], capture_output=True, text=True)
        assert complaint.returncode == 4 and "is not a regular expression" in complaint.stderr, complaint


if __name__ == "__main__":
    main(*sys.argv[1:])
