"""The workflows of .github/ are valid: test_workflows.py PROJECT_DIR NPM_FOLDER

@action-validator/core from npm validates each file against GitHub's JSON schema, and finds what is wrong with a copy that is
spoilt. The commands that a workflow runs exist and are recorded in CONTRIBUTING.md, and only release.yml's jobs for a tag may write or
publish. Skipped, with the reason, without node, npm or the package.
"""
import json
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
PACKAGE = "@action-validator/core@0.6.0"
VALIDATE = """
const { validateWorkflow } = require('@action-validator/core');
console.log(JSON.stringify(validateWorkflow(require('fs').readFileSync(0, 'utf8')).errors));
"""


# The schema of this version of the package does not know this permission yet.
NEWER = re.compile(r"^ +attestations: write\n", re.MULTILINE)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def install(project, folder):
    for program in ("node", "npm"):
        if not shutil.which(program):
            skip(f"there is no {program}")
    if os.path.isdir(os.path.join(folder, "node_modules", PACKAGE.rsplit("@", 1)[0])):
        return
    npm_install = os.path.join(project, "packaging", "npm_install.sh")
    done = subprocess.run([npm_install, folder, PACKAGE], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        skip(" ".join(done.stderr.split()))


def errors(folder, text):
    """What is wrong with a workflow, as a list."""
    done = subprocess.run(["node", "-e", VALIDATE], input=text, capture_output=True, text=True, cwd=folder, check=True)
    return json.loads(done.stdout)


def check_release(text):
    """What may write or publish waits for a tag, and what publishes waits for a person."""
    jobs = dict(re.findall(r"^  (\w+):\n((?:(?: {4}.*)?\n)+)", text.split("\njobs:\n")[1] + "\n", re.MULTILINE))
    assert sorted(jobs) == ["build", "draft", "npm", "pypi", "test"], sorted(jobs)
    assert "\npermissions:\n  contents: read\n" in text and not re.search(r"secrets[.]", text)
    for name, job in jobs.items():
        needs = re.search(r"^    needs: (\w+)$", job, re.MULTILINE)
        assert (needs[1] if needs else None) == {"build": None, "test": "build", "draft": "test"}.get(name, "draft"), name
        rights = sorted(re.findall(r"^ +([\w-]+): write$", job, re.MULTILINE))
        assert rights == {"draft": ["attestations", "contents", "id-token"], "npm": ["id-token"], "pypi": ["id-token"]}.get(name, []), (name, rights)
        assert not rights or "    if: github.ref_type == 'tag'\n" in job, name
        assert ("    environment: publish\n" in job) == (name in ("npm", "pypi")), name
        assert "npm publish" not in job or name == "npm", name
    assert len(text.splitlines()) <= 150


def check_record(project, texts):
    """CONTRIBUTING.md says of each step that runs something whether it has run outside of GitHub, or what stands in for it."""
    with open(os.path.join(project, "CONTRIBUTING.md"), encoding="utf-8") as file:
        record = file.read().partition("## What has run of the workflows")[2]
    recorded = {name for row in re.findall(r"^\| ([^|]+) \|", record, re.MULTILINE)[1:] for name in row.split("; ")}
    steps = {step.partition("\n")[0] for text in texts for step in text.split("- name: ")[1:] if re.search(r"^ +run: ", step.partition("      - ")[0], re.MULTILINE)}
    assert len(steps) > 10 and recorded == steps, (sorted(recorded - steps), sorted(steps - recorded))


def main(project, folder):
    workflows = os.path.join(project, ".github", "workflows")
    names = sorted(os.listdir(workflows))
    assert names, f"{workflows} is empty"
    texts = {}
    for name in names:
        with open(os.path.join(workflows, name), encoding="utf-8") as file:
            texts[name] = file.read()
        for command in re.findall(r"^\s*(?:- )?(?:run: )?(\.\S+|packaging/\S+)", texts[name], re.MULTILINE):
            assert os.access(os.path.join(project, command), os.X_OK), f"{name} runs {command}, which does not exist"
    assert re.search(r"^\s*run: \.ci/run$", texts["ci.yml"], re.MULTILINE), "ci.yml does not run .ci/run"
    check_release(texts["release.yml"])
    check_record(project, texts.values())
    install(project, folder)
    for name, text in texts.items():
        text = NEWER.sub("", text)
        found = errors(folder, text)
        assert not found, f"{name}: {found}"
        for key in ("runs-on:", "permissions:", "steps:"):
            spoilt = text.replace(key, "other-" + key, 1)
            assert spoilt != text and errors(folder, spoilt), f"a spoilt {name} is found to be valid"


if __name__ == "__main__":
    main(*sys.argv[1:])
