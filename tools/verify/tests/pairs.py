"""Checks the lists of launches: pairs.py LAUNCH_DIR

Each kernel's launches cover every value of its choices and every pair of values of two choices, but for pairs that `x-never`
rules out, with at most MOST launches. Those that CI proves, whose names begin with "ci", have both values of each choice that has
two, and two blocks. Choices named in VALUES have exactly those values. Then it takes away all launches with one value, for
each value, and checks that this is noticed.
"""

import glob
import itertools
import os
import sys
import tomllib

MOST = 16
VALUES = {"dims": {"1", "3", "16", "300"}, "blocks": {"1", "2", "3"}}


def pairs(choices):
    return set(itertools.combinations(sorted(choices.items()), 2))


def complaints(kernel, launches, values, never):
    """What is wrong with the launches of one kernel; `launches`: (name, {choice: value}) of each."""
    lists = [choices for _, choices in launches if choices]
    factors = {factor: values[factor] for choices in lists for factor in choices}
    every = [dict(zip(factors, row)) for row in itertools.product(*factors.values())]
    possible = [row for row in every if not any(rule.items() <= row.items() for rule in never)]
    found = [f"{name}: is not possible" for name, choices in launches if choices and choices not in possible]
    wanted = set().union(*(set(row.items()) | pairs(row) for row in possible))
    covered = set().union(*(set(choices.items()) | pairs(choices) for choices in lists))
    found += [f"no launch with {gap}" for gap in sorted(wanted - covered, key=str)]
    if len(launches) > MOST:
        found.append(f"{len(launches)} launches, at most {MOST}")
    in_ci = [choices for name, choices in launches if name.startswith("ci")]
    if not in_ci:
        found.append("no launch in CI")
    for factor, whole in factors.items():
        seen = {choices[factor] for choices in in_ci if factor in choices}
        if (len(whole) == 2 and seen != whole) or (factor == "blocks" and "2" not in seen):
            found.append(f"{factor} has only {sorted(seen)} in CI")
    return [f"{kernel}: {text}" for text in found]


def read(path):
    """({kernel: launches}, values of the choices, rules) of a launch file."""
    with open(path, "rb") as file:
        spec = tomllib.load(file)
    values = {factor: set(choices) for factor, choices in spec.get("choices", {}).items()}
    kernels = {}
    for launch in spec["launch"]:
        choices = {factor: str(value) for factor, value in launch.get("with", {}).items()}
        kernels.setdefault(launch.get("kernel", spec.get("kernel")), []).append((launch.get("name", ""), choices))
    return kernels, values, spec.get("x-never", [])


def main(folder):
    bad, removals = 0, 0
    specs = sorted(glob.glob(os.path.join(folder, "*.launch.toml")))
    for path in specs:
        kernels, values, never = read(path)
        found = [f"{factor} has the values {sorted(values[factor])}" for factor in values
                 if factor in VALUES and values[factor] != VALUES[factor]]
        for kernel, launches in kernels.items():
            found += complaints(kernel, launches, values, never)
            for gap in {item for _, choices in launches for item in choices.items()}:
                removals += 1
                rest = [launch for launch in launches if gap not in launch[1].items()]
                if rest and any(choices for _, choices in rest) and not complaints(kernel, rest, values, never):
                    found.append(f"{kernel}: nobody misses {gap}")
            print(f"{os.path.basename(path)}: {kernel}: {len(launches)} launches")
        bad += len(found)
        print("\n".join(found))
    print(f"{removals} values taken away")
    return bad != 0 or not specs


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
