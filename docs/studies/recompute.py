#!/usr/bin/env python3
"""The measured verdicts of a page, computed again from its results without fstrial.

    docs/studies/recompute.py maildir-2004     each claim's verdict on the study's own machine at
                                               the largest size
    docs/studies/recompute.py --moved          verdicts by the tests before and after a change that
                                               was made when results were known (moved.toml)
"""
import lzma, math, re, sqlite3, statistics, sys, tempfile, tomllib
from pathlib import Path

ALPHA, SEEDS, TIMES, ROOT = 0.05, 3, 0.25, Path(__file__).resolve().parents[2]
METRICS = {"wall": "wall_ns", "ops_rate": "1e9 * ops / wall_ns",
      "read_rate": "1e9 * read_bytes / wall_ns", "write_rate": "1e9 * write_bytes / wall_ns",
      "cpu": "user_ns + sys_ns", "machine_cpu": "machine_cpu_ns",
      "device_read_bytes": "device_read_bytes", "device_write_bytes": "device_write_bytes"}


def two_sided(t, df, steps=20000):
    """Twice the upper tail of Student's t: the integral of its density from 0 to t, by x = tan."""
    c = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    end = math.atan(t / math.sqrt(df))
    area = sum(math.cos(end * (i + 0.5) / steps) ** (df - 1) for i in range(steps)) * end / steps
    return max(0.0, 1 - 2 * c * math.sqrt(df) * area)


def figures(db, part, workload, nth, phases, metric, look):
    """The figures of one row by contender and seed, at the largest size."""
    size = "coalesce(json_extract(r.request, '$.study.size'), r.scale)"
    where = ("json_extract(r.request, '$.study.part') = ? and t.outcome = 'done' and "
             "json_extract(r.request, '$.study.assumption') is null")
    largest = db.execute(f"select max({size}) from runs r join trials t on t.run = r.ordinal "
                         f"where {where}", [part]).fetchone()[0]
    value = "(select value from figures f where f.phase = p.id and f.name = '%s')" % metric[7:]
    value = value if metric.startswith("figure.") else METRICS[metric]
    rows = db.execute(
        f"select t.contender, t.block, p.phase, {value}, row_number() over (partition by t.id, "
        f"p.phase order by p.ordinal), count(*) over (partition by t.id, p.phase) from runs r join trials t on t.run = r.ordinal "
        f"join phases p on p.trial = t.id where {where} and {size} = ? and p.workload = ? and "
        f"json_extract(r.request, '$.study.look') <= ?", [part, largest, workload, look])
    found = {}
    for contender, seed, phase, value, at, count in rows:
        # The same workload several times in one sequence is told apart by its place.
        if phase in phases and at == min(nth, count) and value is not None:
            cell = found.setdefault(contender, {})
            cell[seed] = cell.get(seed, 0) + value
    return found


def questions(statement, rows):
    """Each question of a statement: comparisons (cells, low, high) of logarithms of ratios."""
    names, said = statement.split(":", 1)
    share = lambda text: float(re.search(r"([\d.]+) %", text)[1]) / 100
    for row in (name.strip() for name in names.split(",")):
        better = rows[row]["better"]
        cell = lambda name: (name.split("@")[1] if "@" in name else row, name.split("@")[0])
        def ahead(a, b, by=0.0, worse=False):
            high = (better == "higher") != worse
            ends = (math.log1p(by), math.inf) if high else (-math.inf, math.log(1 - by))
            return ((cell(a), cell(b)), *ends)
        match said.split():
            case ["ranking", *order]:
                order = [name.strip(",") for name in order]
                yield from ([ahead(a, b)] for a, b in zip(order, order[1:]))
            case [a, "best" | "worst" as which, *among]:
                others = [name.strip(",") for name in among[1:]] or \
                    [name for name in rows[row]["columns"] if name != a]
                yield [ahead(a, b, worse=which == "worst") for b in others]
            case [a, "better" | "worse" as which, "than", b, *by]:
                yield [ahead(a, b, share(said) if by else 0.0, which == "worse")]
            case [a, "at", "least" | "most" as which, times, "times", b]:
                end = math.log(float(times))
                ends = (end, math.inf) if which == "least" else (-math.inf, end)
                yield [((cell(a), cell(b)), *ends)]
            case [a, "about", times, "times", b, *_]:
                mid, room = math.log(float(times)), math.log1p(share(said) if "within" in said else TIMES)
                yield [((cell(a), cell(b)), mid - room, mid + room)]
            case [a, "about", "equal", "to", *others]:
                room = math.log1p(share(said) if "within" in said else 0.1)
                for b in re.split(r",\s*", " ".join(others).split(" within")[0]):
                    yield [((cell(a), cell(b)), -room, room)]
            case [a, "better", "beside", b, "than", "in", there]:
                ends = (0.0, math.inf) if better == "higher" else (-math.inf, 0.0)
                yield [((cell(a), cell(b), (there, b), (there, a)), *ends)]
            case _:
                raise NotImplementedError(statement)


def decided(of_cell, asked, alpha):
    """For each comparison of a claim whether it is inside its region, by Holm's procedure."""
    found = []
    for cells, low, high in asked:
        series = [of_cell(*cell) for cell in cells]
        if not all(series):
            found.append(("not run", 1.0, None))
            continue
        signs = [1, -1] * 2
        logs = [sum(sign * math.log(one[seed]) for sign, one in zip(signs, series))
                for seed in sorted(set.intersection(*(set(one) for one in series)))]
        if len(logs) < SEEDS:
            found.append(("open", 1.0, None))
            continue
        mean, error = statistics.mean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
        away = min(abs(mean - low), abs(mean - high))
        p = two_sided(away / error, len(logs) - 1) if error > 0 else float(away == 0)
        found.append(("open", p, low <= mean <= high))
    tested = sorted((at for at, it in enumerate(found) if it[2] is not None),
                    key=lambda at: found[at][1])
    for step, at in enumerate(tested):
        if found[at][1] * (len(tested) - step) > alpha:
            break
        found[at] = ("holds" if found[at][2] else "does not hold", *found[at][1:])
    return [it[0] for it in found]


def verdict(kinds):
    run = any(kind != "not run" for kind in kinds)
    held, failed = "holds" in kinds, "does not hold" in kinds
    if not run:
        return "not run"
    if held and failed:
        return "partly"
    if failed:
        return "does not hold"
    return "undecided" if "open" in kinds else "holds"


def verdicts(name, claims):
    """Each of the claims, by its id, with its verdict by the results of a page."""
    folder = ROOT / "studies" / name
    read = lambda file: tomllib.loads((folder / file).read_text())
    rows = {row["id"]: {**row, "part": table["part"], "columns": table["columns"]}
            for table in read("published.toml")["table"] for row in table["row"]}
    workloads = {}
    for part in read("study.toml")["part"]:
        runs = [it["run"].split(":")[0] for it in part["workloads"]]
        for at, it in enumerate(part["workloads"]):
            nth = runs[:at + 1].count(runs[at]) if part.get("sequence") else 1
            workloads[part["id"], it["id"]] = (runs[at], nth)
    with tempfile.NamedTemporaryFile(suffix=".db") as plain:
        plain.write(lzma.open(ROOT / f"docs/studies/results/{name}.db.xz").read())
        plain.flush()
        db = sqlite3.connect(plain.name)
        known = {}

        def of_row(row, look):
            it, at = rows[row], (row, look)
            if at not in known:
                measure = it["measure"]
                run, nth = workloads[it["part"], measure["workload"]]
                phases = measure["phase"]
                phases = [phases] if isinstance(phases, str) else phases
                known[at] = figures(db, it["part"], run, nth, phases, measure["metric"], look)
            return known[at]

        last = "select max(json_extract(request, '$.study.look')) from runs"
        looks = range(1 + db.execute(last).fetchone()[0])
        for claim in claims or read("claims.toml")["claim"]:
            if "untestable" in claim:
                yield claim["id"], "not testable"
                continue
            tests = claim["test"] if isinstance(claim["test"], list) else [claim["test"]]
            try:
                asked = [question for test in tests for question in questions(test, rows)]
            except NotImplementedError as error:
                yield claim["id"], f"not computed here: {error}"
                continue
            flat = [it for question in asked for it in question]
            answers = ["open"] * len(flat)
            for look in looks:
                alpha = ALPHA / 2 ** (look + 1)
                now = decided(lambda row, column: of_row(row, look).get(column), flat, alpha)
                # What an earlier look decided stays decided.
                answers = [new if new != "open" else old for old, new in zip(answers, now)]
            rest, order = iter(answers), ["does not hold", "open", "not run", "holds"]
            those = [[next(rest) for _ in question] for question in asked]
            kinds = [min(question, key=order.index) for question in those]
            kinds = ["open" if kind == "not run" and set(question) != {kind} else kind
                     for kind, question in zip(kinds, those)]
            yield claim["id"], verdict(kinds)


def moved():
    """The list of changed tests, with both verdicts."""
    print("| study | claim | the test asked | it asks | changed | verdict before | verdict now |")
    print("|---|---|---|---|---|---|---|")
    for it in tomllib.loads((ROOT / "docs/studies/moved.toml").read_text())["moved"]:
        now = dict(verdicts(it["study"], None))[it["now"]]
        before = it.get("before") or dict(verdicts(it["study"], [{"id": "", "test": it["test"]}]))[""]
        print(f"| {it['study']} | {it['now']} | {it['asked']} | {it['asks']} | {it['date']} "
              f"| {before} | {now} |")


if __name__ == "__main__":
    if sys.argv[1:] == ["--moved"]:
        moved()
    else:
        for claim, found in verdicts(sys.argv[1], None):
            print(claim, found)
