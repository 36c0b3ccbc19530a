#!/usr/bin/env python3
"""Opens workbooks and CSV of query in LibreOffice, in English, Korean and German, and compares every
cell with what the terminal shows: texts to the letter, numbers to the places that both show."""

import argparse
import csv
import math
import pathlib
import re
import subprocess
import tempfile

TEXTS = ["한국어", "Grüße", '"quoted"', "=1+1", "+15550001111", "-2+3", "@SUM(A1)", " =1", '=HYPERLINK("http://x","y")', '="007"', "-",
         "'quoted", "#N/A", "15550001111", "1234567890123456", "007", "00.5", " 0123", "5 ", "0014e571", "12E5", "1.5E3", "1.10", "1,5", "1,234",
         "1.234", "1'000", "(5)", "１２３", "5%", "$5", "5 €", "₩1,000", "3/4", "1 1/2", "1:30", "1:30 PM", "9 am", "오전 9:00", "10-12", "2026-11",
         "2026-11-01", "1.11.", "01.11.2026", "MAR1", "1 Jan", "Jan 2026", "1. Mai", "5 März", "11월 1일", "2026年11月1日", "true", "TRUE", "Falsch",
         "참", "0x1F", "2026-11-01T09:30:00Z", "0" * 60, "a=b", "3", "0a7e1f60-12ab-4d3c-9e8f-0123456789ab", "p90_ms", '{"a":1}', "[1,2]"]
REPORTS = [["durations", "--by", "day"], ["costs", "--by", "day"], ["sentiment", "--by", "weekday"], ["conversation", "--by", "hour"],
           ["disconnections"], ["calls", "--top", "200"]]
TRUTH = {"WAHR": "true", "FALSCH": "false", "참": "true", "거짓": "false", "TRUE": "true", "FALSE": "false"}


def profile(folder, locale):
    user = folder / "user"
    user.mkdir(parents=True)
    (user / "registrymodifications.xcu").write_text(
        '<?xml version="1.0" encoding="UTF-8"?><oor:items xmlns:oor="http://openoffice.org/2001/registry">'
        '<item oor:path="/org.openoffice.Setup/L10N"><prop oor:name="ooSetupSystemLocale" oor:op="fuse">'
        f"<value>{locale}</value></prop></item></oor:items>", encoding="utf-8")


def shown(folder, file, separator):
    """The cells of a file's first sheet, as LibreOffice shows them."""
    opened = [f"--infilter=Text - txt - csv (StarCalc):{ord(separator)},34,76,1,,0,false,true"] if file.suffix == ".csv" else []
    out = folder / "out"
    subprocess.run(["soffice", f"-env:UserInstallation=file://{folder}", "--headless", *opened, "--convert-to",
                    "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,true", "--outdir", out, file], check=True, capture_output=True)
    with open(out / (file.stem + ".csv"), encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))


def quantity(text):
    """A number, share or duration (in ms), and what its last place is worth."""
    text = text.replace(",", "").replace(" ", "").replace("%", "").replace("<0.1", "0.0").replace(">99.9", "100.0")
    sign = -1 if text.startswith("-") else 1
    if match := re.fullmatch(r"[+-]?(\d+):(\d\d):(\d\d(?:\.\d+)?)", text):
        text = "{}h{}m{}s".format(*match.groups())
    parts = re.findall(r"(\d+(?:\.(\d+))?)(ms|h|m|s)?", text)
    worth = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1, "": 1}
    if not parts:
        return math.nan, 0
    total = sum(float(n) * worth[unit] for n, _, unit in parts)
    _, decimals, unit = parts[-1]
    return sign * total, worth[unit] * 10 ** -len(decimals)


def alike(terminal, sheet, comma):
    """Whether a cell of a sheet shows what the terminal does."""
    if terminal in (sheet, TRUTH.get(sheet)) or terminal in ("-", "(none)") and sheet == "":
        return True
    if re.match(r"\d{4}-\d\d-\d\d (to|from) ", terminal):  # the sheet about has the period
        return sheet == terminal[:10]
    if re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d", terminal):  # to the second, without offset; a workbook has milliseconds
        return sheet[:19] == terminal[:19]
    if not re.match(r"[<>+-]?\d", terminal):
        return False
    if comma:
        sheet = sheet.replace(".", "").replace(",", ".")
    (a, coarse), (b, fine) = quantity(terminal), quantity(sheet)
    return abs(a - b) <= (coarse + fine) * 0.501


def table(text):
    """The cells of a table in Markdown, whose escapes are those of CommonMark."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[:1] + lines[2:]]


def main():
    """Compares, and exits with 1 if a cell differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--query", required=True)
    parser.add_argument("--warehouse", required=True)
    args = parser.parse_args()
    cells = wrong = 0

    def query(*words):
        return subprocess.run([args.query, *words, "--warehouse", args.warehouse, "--tz", "Asia/Seoul"], check=True, capture_output=True, text=True).stdout

    values = ", ".join("('" + text.replace("'", "''") + "')" for text in TEXTS)
    answers = [(["sql", f"SELECT * FROM (VALUES {values}) AS t(text)"], [["text"], *([text] for text in TEXTS)])]
    for report in REPORTS:
        answers.append((report, table(query(*report, "--columns", "all", "--format", "markdown"))))
    with tempfile.TemporaryDirectory() as temp:
        for locale in ("en-US", "ko", "de"):
            folder = pathlib.Path(temp, locale)
            profile(folder, locale)
            separator = ";" if locale == "de" else ","
            for words, terminal in answers:
                for extra in ([], ["--format", "csv-excel", "--decimal", "," if locale == "de" else "."]):
                    if extra and words[0] not in ("sql", "calls"):
                        continue  # CSV keeps milliseconds and exact shares
                    file = folder / (words[0] + (".csv" if extra else ".xlsx"))
                    query(*words, *extra, "--output", str(file))
                    sheet = shown(folder, file, separator)
                    width = len(terminal[0])
                    if len(sheet) != len(terminal):
                        raise SystemExit(f"{file.name} in {locale}: {len(sheet)} lines, {len(terminal)} on the terminal")
                    for want, got in zip(terminal[1:], sheet[1:]):
                        for x, heading in enumerate(sheet[0][:width]):
                            if extra and heading.endswith("_ms") or heading == "agent_id":  # the terminal shows its name
                                continue
                            cells += 1
                            if not alike(want[x], got[x], locale == "de"):
                                wrong += 1
                                print(f"{file.name} in {locale}: {heading} is {want[x]!r} on the terminal, {got[x]!r} in the sheet")
    print(f"{cells} cells compared, {wrong} differ")
    raise SystemExit(1 if wrong else 0)


main()
