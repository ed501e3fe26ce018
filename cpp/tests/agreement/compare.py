"""Compares the verdicts of the header with those of the program: compare.py RESULTS.jsonl VERDICTS.tsv"""

import collections
import json
import re
import sys


def main():
    results, verdicts = sys.argv[1:3]
    with open(results, encoding="utf-8") as lines:
        next(lines)
        program = {line["id"]: line for line in map(json.loads, lines)}
    outcomes, wrong = collections.Counter(), []
    same_ulps = same_counts = counted = 0
    count = re.compile(r"(\d+ of \d+) elements differ")
    with open(verdicts, encoding="utf-8") as lines:
        for line in lines:
            case, outcome, ulps, message = line.rstrip("\n").split("\t", 3)
            if case not in program:
                continue
            theirs = program.pop(case)
            outcomes[theirs["outcome"]] += 1
            if outcome != theirs["outcome"]:
                wrong.append(f"{case}: {outcome} by the header ({message}), {theirs['outcome']} by the program ({theirs.get('message', '')})")
                continue
            if ulps != str(theirs.get("ulps", "-")):
                wrong.append(f"{case}: {outcome} by both, {ulps} ULP by the header ({message}), {theirs.get('ulps', '-')} by the program ({theirs.get('message', '')})")
                continue
            same_ulps += 1
            ours, other = count.search(message), count.search(theirs.get("message", ""))
            if other:
                counted += 1
                same_counts += bool(ours) and ours[1] == other[1]
                if not ours or ours[1] != other[1]:
                    wrong.append(f"{case}: {message} by the header, {theirs['message']} by the program")
    for line in wrong[:20]:
        print(line)
    total = sum(outcomes.values())
    print(f"{total} verdicts compared, {len(wrong)} differ; {same_counts} of {counted} have the same number of wrong elements; {len(program)} cases not judged by the header")
    print(", ".join(f"{outcome} {number}" for outcome, number in sorted(outcomes.items())))
    return 1 if wrong or not total else 0


if __name__ == "__main__":
    sys.exit(main())
