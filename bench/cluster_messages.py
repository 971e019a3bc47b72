#!/usr/bin/env python3
"""What the messages of a cluster cost: cluster_messages.py MODEL [--queries N] [--shards N] [--rounds N] [--convert GLOVE-CONVERT]

MODEL is a model file. The script shards it, starts a worker for each shard on this machine, and asks for the 10 nearest rows of N
words, each a new one, in several rounds. Per round it prints medians in milliseconds: of the whole query; of its slowest shard, by
the worker's own clock, from the message that has arrived to the answer that is ready; and of the difference. It also prints when the
first and the last worker begin, and how long the last answer takes back. On fewer cores than shards the workers wait for each other,
which is a part of the difference.

Then it compares one exchange, in which each shard returns its k best rows, with two: first a few rows of each, which say how similar
the k-th row is at least, and then the rest of the shards that may have more as similar rows.

Requires the Python package (README.md, Install), dask and distributed.
"""
import argparse
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import cluster as bench


def measure_workers():
    """Has a worker note when it begins and ends each answer."""
    import sqlite_glove.dask  # pylint: disable=redefined-outer-name
    calls = sqlite_glove.dask._calls
    calls.noted, answer = [], calls._answer

    def noted(message):
        begin = time.perf_counter()
        result = answer(message)
        calls.noted.append((begin, time.perf_counter()))
        return result
    calls._answer = noted


def forget_measurements():
    import sqlite_glove.dask  # pylint: disable=redefined-outer-name
    sqlite_glove.dask._calls.noted.clear()


def measurements():
    import sqlite_glove.dask  # pylint: disable=redefined-outer-name
    return sqlite_glove.dask._calls.noted


def median_ms(seconds):
    return f"{1e3 * statistics.median(seconds):.2f}"


def ask(client, model, words):
    """Prints the row of a round. The clock is one for all processes of the machine."""
    client.run(forget_measurements)
    asked = []
    for word in words:
        begin = time.perf_counter()
        model.nearest(word, 10)
        asked.append((begin, time.perf_counter()))
    noted = list(client.run(measurements).values())
    if any(len(one) != len(words) for one in noted):
        raise SystemExit(f"the workers have answered {[len(one) for one in noted]} of {len(words)} queries directly")
    of_query = list(zip(asked, zip(*noted)))
    slowest = [max(end - begin for begin, end in parts) for _, parts in of_query]
    whole = [end - begin for begin, end in asked]
    columns = [whole, slowest, [a - b for a, b in zip(whole, slowest)], [min(begin for begin, _ in parts) - one[0] for one, parts in of_query],
               [max(begin for begin, _ in parts) - one[0] for one, parts in of_query], [one[1] - max(end for _, end in parts) for one, parts in of_query]]
    print("| " + " | ".join(map(median_ms, columns)) + f" | {os.getloadavg()[0]:.1f} |", flush=True)


def two_exchanges(model, words, k):
    """nearest() by two exchanges. Returns its rows, the seconds of the first one, and how many of the queries needed the second."""
    import sqlite_glove.dask
    module, shards = sqlite_glove.dask, model._current
    few = -(-(k + 1) // len(shards.shards)) + 2
    keys = [word.encode() for word in words]
    begin = time.perf_counter()
    answers, parts = model._ask(shards, module._answer_words, keys, few - 1)
    first, meanings, more = time.perf_counter() - begin, answers[0], []
    for key, (spelling, vector) in meanings.items():
        rows = module._merge([part[vector] for part in parts], k, [spelling])
        if len(rows) < k or any(len(part[vector]) == few and part[vector][-1][0] >= rows[-1][0] for part in parts):
            more.append(key)
    if more:
        _, again = model._ask(shards, module._answer_words, more, k)
        for part, rest in zip(parts, again):
            part.update(rest)
    return [row for rows in module._neighbors_of(words, meanings, parts, k) for row in rows], first, len(more)


def compare_exchanges(model, words, k, in_one_call, rounds):
    """Prints the median of each way, in turns, each query a new one."""
    seconds, firsts, second = ([], []), [], 0
    for number in range(rounds):
        some = words[number * 2 * in_one_call:(number + 1) * 2 * in_one_call]
        for way, batch in enumerate((some[:in_one_call], some[in_one_call:])):
            begin = time.perf_counter()
            if way == 0:
                model.nearest(batch, k)
            else:
                _, first, needed = two_exchanges(model, batch, k)
                firsts.append(first)
                second += needed
            seconds[way].append(time.perf_counter() - begin)
    if two_exchanges(model, words[:20], k)[0] != model.nearest(words[:20], k):
        raise SystemExit("the two ways have other rows")
    print(f"| {in_one_call:,} | {k} | {median_ms(seconds[0])} | {median_ms(seconds[1])} | {median_ms(firsts)} | {100 * second / (rounds * in_one_call):.0f} % |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--convert", default="glove-convert")
    options = parser.parse_args()
    import distributed
    import sqlite_glove.dask
    with tempfile.TemporaryDirectory() as folder, bench.local_cluster(options.shards) as workers, distributed.Client(workers) as client:
        subprocess.run([options.convert, "-q", options.model, os.path.join(folder, "model"), "--shards", str(options.shards)], check=True)
        conn = sqlite3.connect(":memory:")
        sqlite_glove.load(conn)
        conn.execute("SELECT glove_load(?, 'whole')", (options.model,))
        words = [str(word) for word, in conn.execute("SELECT word FROM glove_words WHERE model = 'whole' AND word = lower(word)")]
        random.Random(os.environ.get("GLOVE_TEST_SEED", "1")).shuffle(words)
        model = sqlite_glove.dask.open(client, os.path.join(folder, "model.safetensors.index.json"))
        model.nearest(words[-1], 10)
        client.run(measure_workers)
        model.nearest(words[-2], 10)
        print(f"{options.shards} shards on {os.cpu_count()} cores, {options.queries} queries a round, ms\n\n"
              "| whole | slowest shard | difference | first begins | last begins | last answer | load |\n|--:|--:|--:|--:|--:|--:|--:|")
        for number in range(options.rounds):
            ask(client, model, words[number * options.queries:(number + 1) * options.queries])
        print("\n| words in a call | k | one exchange, ms | two, ms | the first of two, ms | of the queries needed the second |\n|--:|--:|--:|--:|--:|--:|")
        rest = words[options.rounds * options.queries:]
        for in_one_call, k, rounds in ((1, 10, 300), (1, 100, 300), (256, 10, 5), (256, 100, 5)):
            compare_exchanges(model, rest, k, in_one_call, rounds)
            rest = rest[2 * in_one_call * rounds:]
    return 0


if __name__ == "__main__":
    sys.exit(main())
