#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a probe and compares its answers, line by line, with those recorded from RabbitMQ 4.0.5.

compare_answers.py PROBE EXPECTED DIFFERENCES   DIFFERENCES has `name<TAB>our answer<TAB>why` for each case in which Millrace answers otherwise;
docs/PROTOCOLS.md explains them. A listed difference that no longer shows fails too, so that the list stays true.
"""
import os
import subprocess
import sys


def by_name(lines):
    answers = {}
    for line in lines:
        name, arrow, answer = line.partition(" -> ")
        if not arrow:
            name, answer = line[:12], line
        answers[name.strip()] = answer.strip()
    return answers


def main():
    probe, expected_file, differences_file = sys.argv[1:4]
    run = subprocess.run(["/usr/bin/python3", probe], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ)
    if run.returncode == 77:
        print(run.stdout)  # it says what it lacks
        return 77
    ours = by_name(run.stdout.splitlines())
    with open(expected_file) as text:
        theirs = by_name(text.read().splitlines())
    ends = {}
    if os.path.exists(differences_file):
        with open(differences_file) as text:
            for line in text:
                if line.strip() and not line.startswith("#"):
                    name, answer, _why = line.rstrip("\n").split("\t")
                    ends[name] = answer
    bad = 0
    for name, answer in theirs.items():
        wanted = ends.get(name, answer)
        if ours.get(name) != wanted:
            bad += 1
            print(f"{name}\n  wanted {wanted}\n  got    {ours.get(name)}")
    print(f"{len(theirs) - bad} of {len(theirs)} answers as recorded ({len(ends)} documented differences)")
    if run.returncode != 0:
        print(run.stdout[-2000:])
    return 1 if bad or run.returncode != 0 else 0


sys.exit(main())
