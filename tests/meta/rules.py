# SPDX-License-Identifier: Apache-2.0
"""The rules of the house as functions from files ({path: text}) to complaints (strings)."""

import functools
import re

# Which folder of src/ may include which (ARCHITECTURE.md tells why). A folder may include itself.
LAYERS = {
    "base": set(),
    "ring": {"base"},
    "annot": {"base", "ring"},
    "counters": {"base"},
    "inject": {"base", "ring", "annot", "unwind", "counters"},
    "platform": {"base"},
    "unwind": {"base"},
    "source": {"base", "ring", "platform", "unwind", "counters"},
    "wire": {"base"},
    "trace": {"base", "wire"},
    "record": {"base", "platform", "ring", "source", "trace", "counters"},
    "model": {"base", "wire", "trace"},
    "analysis": {"base", "model"},
    "view": {"base", "model", "analysis"},
    "arrow": {"base", "model", "analysis"},
    "reading": {"base", "model", "analysis", "arrow"},
    "timeline": {"base", "wire", "model", "analysis", "view"},
    "serve": {"base"},
    "workers": {"base", "platform", "wire", "model"},
    "cli": {"base", "annot", "platform", "unwind", "counters", "source", "wire", "trace", "record", "model",
            "analysis", "view", "reading", "timeline", "serve", "workers"},
    # The public library: a thin face on the reader.
    "lib": {"base", "trace"},
}

# The rooms of a layer, from the ground up: a room includes itself and those before it.
ROOMS = {
    "analysis": [
        "table", "selection", "launches", "steps", "samples", "calls", "kernels", "operators", "devices",
        "roofline", "memory", "loading", "pipeline", "ranks", "training", "diagnosis", "tables", "report",
        "diff"],
    "model": [
        "core", "clock", "builder", "files", "merge", "chrome", "perfetto", "nsys", "ncu", "stacks",
        "snapshot", "native", "load"],
    "view": [
        "output", "flame", "pictures", "export", "layouts", "report"],
    "record": [
        "run", "recording", "details", "windows", "processes", "tracks", "devices", "annotations", "sources",
        "session"],
    "inject": [
        "preload", "device", "nccl", "itt", "nvtx", "torch", "cupti", "rocm", "mpi"],
    "cli": [
        "line", "reading", "export", "checks", "record", "doctor", "info", "merge", "trigger", "view",
        "commands"],
}
MOST_FILES_OF_A_ROOM = 40

# Function: the folders of src/ that may call it.
BANNED = {
    **dict.fromkeys("malloc calloc realloc reallocarray free strdup strndup asprintf vasprintf "
                    "aligned_alloc posix_memalign".split(), {"base"}),
    **dict.fromkeys("strcpy stpcpy strcat strncat sprintf vsprintf gets strtok alloca system popen "
                    "tmpnam tempnam mktemp atoi atol atoll atof rand srand".split(), set()),
    "exit": {"cli"},
    "abort": {"base"},
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


@functools.cache
def code_only(text):
    """C without comments and literals; line numbers stay."""
    return NO_CODE.sub(lambda match: "\n" * match.group().count("\n") or " ", text)


@functools.cache
def without_comments(text):
    """C with its literals; line numbers stay."""
    return NO_CODE.sub(lambda match: match.group() if match.group()[0] in "\"'" else
                       "\n" * match.group().count("\n") or " ", text)


@functools.cache
def words_of(text):
    """Its words; one that a parenthesis follows ends with it: "free(". Few files have a word that
    is not allowed, and only those are searched line by line."""
    return frozenset("".join(word.split()) for word in set(re.findall(r"\w+\s*\(?", text)))


def calls_of(names):
    return frozenset(f"{name}(" for name in names.split())


def folder_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


# A declaration without a definition, and a definition, of a struct.
DECLARED = re.compile(r"^struct (ss_\w+);", re.M)
DEFINED = re.compile(r"^(?:\w+ )*struct (ss_\w+)(?: \w+\([^)]*\))? \{", re.M)
# How a header opens that only the files of one class include: "Private to the implementation of
# recording.h", "Private to decode*.c"; not "Private to trace/".
PRIVATE = re.compile(r"\A(?:/\*.*?\*/\s*){0,2}?/\*(?:(?!\*/).)*?(?:Internals of|Private to (?!\w+/))",
                     re.S | re.I)


# A path without its suffix; and what one text declares, defines and includes: several rules ask.
stem = functools.cache(lambda path: re.sub(r"\.\w+$", "", path))
declared_in = functools.cache(lambda text: DECLARED.findall(code_only(text)))
defined_in = functools.cache(lambda text: DEFINED.findall(code_only(text)))
included_in = functools.cache(lambda text: ["src/" + target for target in INCLUDE.findall(text)])


def includes(files):
    """{path: [path]}: of the files in the tree."""
    return {path: [target for target in included_in(text) if target in files]
            for path, text in files.items()}


def struct_homes(files):
    """{struct: {path}}: the headers that offer it. A struct that only a source file or a private
    header defines is opaque: it belongs to the header of that source file, or else to the headers
    that declare it and that its definition includes."""
    declarers, homes, targets = {}, {}, includes(files)
    for path, text in files.items():
        for name in declared_in(text):
            declarers.setdefault(name, set()).add(path)
    for path, text in files.items():
        names = defined_in(text)
        is_open = names and path.endswith(".h") and not PRIVATE.match(text)
        for name in names:
            known = declarers.get(name, set())
            own = {stem(path) + ".h"} & known
            offered = {path} if is_open else own or known & set(targets[path])
            homes.setdefault(name, set()).update(offered)
    return homes


def forward_arrows(files):
    """[(header, struct, home)]: what a header knows of another one without including it."""
    homes = struct_homes(files)
    return [(path, name, home)
            for path, text in sorted(files.items()) if path.endswith(".h")
            for name in declared_in(text) if path not in homes.get(name, ())
            for home in sorted(homes.get(name, ()))]


def arrows(files):
    """{path: [path]}: includes, and the forward declarations that stand for one."""
    graph = includes(files)
    for path, _, home in forward_arrows(files):
        graph[path].append(home)
    return graph


def check_layers(files):
    for path, text in files.items():
        folder = folder_of(path)
        if folder is None:
            continue
        if folder not in LAYERS:
            yield f"{path}: src/{folder} is no layer of the house"
            continue
        for target in INCLUDE.findall(text):
            layer = target.split("/")[0]
            if "/" not in target:
                yield f'{path}: #include "{target}" needs its folder'
            elif layer in LAYERS and layer != folder and layer not in LAYERS[folder]:
                yield f'{path}: {folder} must not include "{target}"'
    for path, name, home in forward_arrows(files):
        folder, layer = folder_of(path), folder_of(home)
        if folder in LAYERS and layer != folder and layer not in LAYERS[folder]:
            yield f"{path}: {folder} must not know struct {name} of {home}"


def room_of(path):
    """The layer of a path, and its room in it; None for a file that lies in no room."""
    parts = path.split("/")
    return (parts[1], parts[2] if len(parts) > 3 else None) if parts[0] == "src" and len(parts) > 2 else (None, None)


def check_rooms(files):
    """Arrows between rooms lead down; each room is one that ROOMS names, and not too large."""
    sizes = {}
    for path in files:
        layer, room = room_of(path)
        if layer in ROOMS:
            sizes[layer, room] = sizes.get((layer, room), 0) + 1
            if room not in ROOMS[layer]:
                yield f"{path}: lies in no room of src/{layer}"
    for (layer, room), size in sizes.items():
        if size > MOST_FILES_OF_A_ROOM:
            yield f"src/{layer}/{room}: {size} files, more than {MOST_FILES_OF_A_ROOM}"
    for path, targets in arrows(files).items():
        layer, room = room_of(path)
        for target in targets:
            other_layer, other = room_of(target)
            if layer == other_layer and layer in ROOMS and {room, other} <= set(ROOMS[layer]) and \
                    ROOMS[layer].index(other) > ROOMS[layer].index(room):
                yield f"{path}: {room} must not know {other} ({target})"


def room_sizes(files):
    """{"src/layer/room": number of C files and headers}, of layers that have rooms and others."""
    sizes = {}
    for path in files:
        if path.startswith("src/") and path.endswith((".c", ".h")):
            folder = path.rpartition("/")[0]
            sizes[folder] = sizes.get(folder, 0) + 1
    return sizes


# A binary search that is written out, with whatever names.
SEARCH = re.compile(r"\b(\w+) = (\w+) \+ \(\w+ - \2\) / 2;(?=.{0,400}?\b\2 = (?:\w+ \? )?\1 \+ 1)", re.S)


def check_searches(files):
    for path, text in files.items():
        if path.endswith(".c") and path.startswith("src/"):
            code = code_only(text)
            for found in SEARCH.finditer(code):
                yield f"{path}:{code.count(chr(10), 0, found.start()) + 1}: ss_search (base/search.h) finds it"


def circles(graph):
    """The strongly connected parts of more than one node: [[node]]."""
    numbers, lowest, stack, found = {}, {}, [], []

    def visit(node):
        numbers[node] = lowest[node] = len(numbers)
        stack.append(node)
        for target in graph.get(node, ()):
            if target not in numbers:
                visit(target)
                lowest[node] = min(lowest[node], lowest[target])
            elif target in stack:
                lowest[node] = min(lowest[node], numbers[target])
        if lowest[node] == numbers[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in numbers:
            visit(node)
    return found


def check_include_cycles(files):
    """Files that include, or declare the structs of, each other, over any number of steps."""
    for circle in circles(arrows(files)):
        yield "include cycle: " + ", ".join(path.removeprefix("src/") for path in circle)


def quotient(graph, part_of):
    """The graph of the parts to which the nodes belong."""
    parts = {}
    for node, targets in graph.items():
        part = parts.setdefault(part_of(node), set())
        part.update(part_of(target) for target in targets)
    return {part: sorted(targets - {part}) for part, targets in parts.items()}


def check_folder_cycles(files):
    for circle in circles(quotient(arrows(files), lambda path: folder_of(path) or "")):
        yield "cycle of folders: " + ", ".join(circle)


def is_one_class(stems):
    """A class in several files: their names begin with the name of one of them, such as steps.c,
    steps_text.c, step_rows.h."""
    first = min(stems, key=len)
    return all(one == first or one.startswith((first + "_", first.removesuffix("s") + "_"))
               for one in stems)


def class_cycles(files):
    """Headers with their source files that depend on each other: [[stem]], without those of one
    class."""
    return [circle for circle in circles(quotient(arrows(files), stem)) if not is_one_class(circle)]


MOST_IN_CYCLES_PERCENT = 3


def percent_in_class_cycles(files):
    stems = {one for circle in class_cycles(files) for one in circle}
    return 100 * sum(stem(path) in stems for path in files) / max(1, len(files))


def check_class_cycles(files):
    if percent_in_class_cycles(files) > MOST_IN_CYCLES_PERCENT:
        for circle in class_cycles(files):
            yield "cycle of headers with their sources: " + ", ".join(circle)


def check_layer_cycles(layers):
    for circle in circles(layers):
        yield "cycle of layers: " + ", ".join(circle)


MOST_LINES_OF_A_FILE = 600
MOST_LINES_OF_A_FUNCTION = 40
# The comment above a longer function, or in its first lines, says why: "Long: one case per record."
REASON = re.compile(r"\blong\b", re.I)


def check_file_sizes(files):
    """Of C files; tables (.def, .inc) are as long as they are."""
    for path, text in files.items():
        lines = text.count("\n")
        if path.startswith("src/") and path.endswith((".c", ".h")) and lines > MOST_LINES_OF_A_FILE:
            yield f"{path}: {lines} lines, more than {MOST_LINES_OF_A_FILE}"


def functions(text):
    """[(name, first line, last line)] of formatted C, from 1: a brace in the first column is that of
    a function."""
    lines, found = code_only(text).split("\n"), []
    for number, line in enumerate(lines):
        if line == "{":
            first = number
            while first > 0 and lines[first - 1].strip() and \
                    not lines[first - 1].startswith("#") and lines[first - 1][-1] not in ";}":
                first -= 1
            last = lines.index("}", number) if "}" in lines[number:] else len(lines) - 1
            name = re.search(r"(\w+)\(", " ".join(lines[first:number]))
            found.append((name.group(1) if name else "?", first + 1, last + 1))
    return found


def comment_of(text, first):
    """What a function that begins at this line says of itself: the comment above, and its first
    lines."""
    lines = text.split("\n")
    above = first - 1
    if above > 0 and lines[above - 1].endswith("*/"):
        while above > 0 and "/*" not in lines[above - 1]:
            above -= 1
        above -= 1
    body = next((number for number in range(first - 1, len(lines)) if lines[number] == "{"), first)
    return "\n".join(comment for _, comment in comments_of("\n".join(lines[above:body + 4])))


def check_long_functions(files):
    for path, text in files.items():
        for name, first, last in functions(text) if path.endswith(".c") else ():
            if (last - first + 1 > MOST_LINES_OF_A_FUNCTION
                    and not REASON.search(comment_of(text, first))):
                yield (f"{path}:{first}: {name} has {last - first + 1} lines: shorten it, or say "
                       "above it why it is long")


def figures(files):
    """What the rules about sizes and circles measure, as lines."""
    sources = {path: text for path, text in files.items()
               if path.startswith("src/") and path.endswith((".c", ".h"))}
    lines = sorted((text.count("\n"), path) for path, text in sources.items()
                   if path.endswith(".c"))
    lengths = sorted(last - first + 1 for path, text in sources.items() if path.endswith(".c")
                     for _, first, last in functions(text))
    long = sum(length > MOST_LINES_OF_A_FUNCTION for length in lengths)
    rooms = room_sizes(files)
    crowded = sorted((count, room) for room, count in rooms.items() if count > MOST_FILES_OF_A_ROOM)
    return [f"{len(sources)} files, {sum(count for count, _ in lines)} lines of C; the longest file "
            f"has {lines[-1][0]} ({lines[-1][1]}), the median {lines[len(lines) // 2][0]}",
            f"{len(lengths)} functions; nine in ten have at most "
            f"{lengths[len(lengths) * 9 // 10]} lines, {long} more than {MOST_LINES_OF_A_FUNCTION}",
            f"include cycles: {len(circles(arrows(sources)))} of files, "
            f"{len(list(check_folder_cycles(sources)))} of folders; "
            f"{percent_in_class_cycles(sources):.1f} % of files in cycles of headers with sources "
            f"of different classes",
            f"{sum(text.count(chr(10)) for text in files.values())} lines with headers and tables; "
            f"{len(list(check_searches(files)))} binary searches by hand",
            f"{len(rooms)} folders; of more than {MOST_FILES_OF_A_ROOM} files: "
            + (", ".join(f"{room} {count}" for count, room in crowded) or "none")]


CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
CALLS = calls_of(" ".join(BANNED))


def check_banned_calls(files):
    for path, text in files.items():
        folder = folder_of(path) or ""
        code = code_only(text)
        banned = [name for name in CALLS & words_of(code) if folder not in BANNED[name[:-1]]]
        for number, line in enumerate(code.split("\n") if banned else (), 1):
            for name in CALL.findall(line):
                if folder not in BANNED[name]:
                    yield f"{path}:{number}: {name} is not called here"


# The files of src/ that read the system's clock themselves, for the reason that each states; all
# others take the time from the clock of their options or context (struct ss_clock).
CLOCK_READERS = {"src/base/clock.c", "src/base/clock.h", "src/base/clean.c", "src/annot/stamp.h",
                 "src/inject/nvtx/nvtx_time.c", "src/platform/task_events.c",
                 "src/platform/task_state.c", "src/record/session/supervisor.c", "src/record/run/witness.c",
                 "src/source/nvml.c", "src/trace/writer.c"}
CLOCK_READ = re.compile(r"\b(ss_clock_monotonic_ns|ss_clock_read|clock_gettime)\s*\(")
SLEEP = re.compile(r"\b(sleep|usleep|nanosleep|clock_nanosleep)\s*\(")
CLOCK_CALLS = calls_of("ss_clock_monotonic_ns ss_clock_read clock_gettime sleep usleep nanosleep "
                       "clock_nanosleep")


def check_clocks(files):
    for path, text in files.items():
        pattern = (CLOCK_READ if path.startswith("src/") and path not in CLOCK_READERS else
                   SLEEP if path.startswith("tests/unit/") else None)
        if pattern is None or not CLOCK_CALLS & words_of(code_only(text)):
            continue
        for number, line in enumerate(code_only(text).split("\n"), 1):
            for name in pattern.findall(line):
                yield f"{path}:{number}: {name}: the clock is injected, and tests do not sleep"


# In the hooks, which are Python; names that are put together are not in the table.
NAMED = re.compile(r'(?<![\w".])(?:define|set)_(domain|fact|fact_text|counter)\(\s*"([^"\\]*)"\s*[,)]')
TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def shared_names(text):
    """{kind: {text}}"""
    names = {}
    for kind, name in re.findall(r'^SS_SHARED_NAME\((\w+), \w+, "([^"]+)"', text, re.M):
        names.setdefault(kind, set()).add(name)
    return names


def check_shared_names(files):
    """Names that C and the hooks share stand in one table, and nowhere else in src/. Words of
    everyday ("data") may mean something else and are left out."""
    table = "src/base/shared_names.def"
    names = shared_names(files.get(table, ""))
    shared = {name for texts in names.values() for name in texts if "." in name or " " in name}
    for path, text in files.items():
        if path.startswith("src/") and path.endswith((".c", ".h")):
            for number, line in enumerate(without_comments(text).split("\n"), 1):
                for name in TEXT.findall(line):
                    if name in shared:
                        yield f'{path}:{number}: "{name}" stands in {table}: use its constant'
        if path.endswith(".py") and path.startswith("src/inject/"):
            for kind, name in NAMED.findall(text):
                yield f'{path}: the {kind.replace("_text", "")} "{name}" belongs into {table}, its constant here'


COMMENTED = re.compile(r"(\.(c|h|def|inc|in|py|sh|cmake|js|mjs|css|map|toml|cfg|ini)|"
                       r"/CMakeLists\.txt|/Makefile)$")


def check_spdx(files):
    for path, text in files.items():
        lines = text.split("\n", 3)
        if COMMENTED.search("/" + path) or lines[0].startswith("#!"):
            first = lines[1] if lines[0].startswith("#!") else lines[0]
            if "SPDX-License-Identifier: Apache-2.0" not in first:
                yield f"{path}: the first line is not its SPDX identifier"


# (what a match contains, the pattern, its meaning): a search for plain text is much faster.
FORBIDDEN = [
    (("/work/", "/root/"), r"(?<![\w/.])/(work|root)/", "a folder of one machine"),
    (("ssue", " #"), r"\b[Ii]ssues? #?\d+|"
     r"\b([Ff]ix(es)?|[Cc]loses?|[Rr]esolves?|PR|[Pp]ull request) #\d+", "an issue number"),
    (("pypi.org", "pythonhosted.org", "deb.debian.org", "npmjs"),
     r"\b(pypi\.org|pythonhosted\.org|deb\.debian\.org|registry\.npmjs\.org|npmjs\.com)\b",
     "the host of a package registry"),
    (("laude", "GPT", "LLM", "anguage model", "AI"),
     r"\b([Cc]laude|ChatGPT|GPT-\d|LLM|language model|AI[- ]generated)\b", "how it was made"),
    (("TODO", "FIXME", "XXX", "HACK"), r"\b(TODO|FIXME|XXX|HACK)\b", "unfinished work"),
]


def check_forbidden_words(files):
    for path, text in files.items():
        for parts, pattern, meaning in FORBIDDEN:
            if not any(part in text for part in parts):
                continue
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: {match.group()!r} speaks of {meaning}"


COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)


def comments_of(text):
    """[(line, comment)]: from 1."""
    return [(text.count("\n", 0, match.start()) + 1, match.group())
            for match in COMMENT.finditer(text) if not match.group().startswith('"')]


# Words that are no longer used, and the term instead (docs/glossary.md).
RETIRED = {
    r"tells?|telling|told|news": "emits, publishes, notifies, a notification",
    r"(?:looks?|looked|looking)(?! up\b| like\b)": "polls, scans, refreshes, reads",
    r"meets?|met": "observes, detects, attaches to",
    r"whoever|whom|somebody|anybody|nobody|he|him|himself|his": "the actor's name",
    r"usual steps?": "steady-state step",
    r"its like|their like|the likes of": "peers",
    r"wish|wishes|wished": "request",
    r"goes along with|go along with|leader": "follows the windows of, window owner",
    r"homeless": "unbuffered",
    r"passed over": "skipped",
    r"hand(?:s|ed|ing)? (?:over|out|on)": "emits, passes, sends",
    r"hangs? itself|hangs? into|told apart|taken up again|lest": "plain English",
    r"none that (?:is|are) known|none that stepscope": "unsupported, unknown",
    r"thinly|load thin": "downsampled",
}
# The list above and its tests; names of other packages.
PROSE_EXCEPTIONS = {
    "tests/meta/rules.py", "tests/meta/test_rules.py",
    "src/model/core/package_names.inc", "src/model/core/stdlib_modules.inc",
}
INCLUDED = re.compile(r"^[ \t]*#[ \t]*include.*$", re.M)
# All in one search, with a group for each; most words do not begin with one of these letters.
FIRST_LETTERS = "".join(sorted(set(re.findall(r"(?:^|\||\?:)([a-z])", "|".join(RETIRED)))))
RETIRED_WORDS = re.compile(rf"\b(?=[{FIRST_LETTERS}])(?:" + "|".join(f"({words})" for words in RETIRED) +
                           r")\b")


def check_retired_words(files):
    """In comments, strings, names and pages; an underscore separates words."""
    for path, text in files.items():
        if path in PROSE_EXCEPTIONS or path.endswith(".svg"):
            continue
        text = INCLUDED.sub("", text).replace("_", " ").lower()
        for match in RETIRED_WORDS.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            instead = list(RETIRED.values())[match.lastindex - 1]
            yield f"{path}:{line}: {match.group()!r} is retired: {instead}"


# What makes up a rule of the diagnosis; rule_limits.def has its numbers.
RULE_FILE = re.compile(r"src/analysis/\w+/(rules\w*|rule_parts|training_periods|memory_growth|lateness)\.c$")
NUMBER = re.compile(r"(?<![\w.])(?:\d[\w.]*|\.\d\w*)")
# No thresholds: nothing, one, a percentage of a share; halves and quarters of a list are not of a value.
PLAIN_NUMBERS = {"0", "1", "100", "100.0"}
LIST_PART = re.compile(r"\b(?:count|points) */ *[24]\b|\bMOST_POINTS = \d+")
PAIR_OF_RANKS = re.compile(r"\b(?:ranks\.count|trainers) >= 2\b")
# Digits and words of number in the texts of rules that limit nothing.
NO_LIMIT = re.compile(r"\{\w+\}|0 workers|generation 1 and 2|float(?:32|64)")
NUMBER_WORD = re.compile(r"\d|\b(?:two|three|four|five|twice|half|third|quarters?|fifths?)\b")


def limit_rows(text):
    return dict(re.findall(r"^SS_RULE_LIMIT\((\w+), (\w+),", text, re.M))


def check_rule_limits(files):
    """The thresholds of rules are rows of rule_limits.def: none stands in code, in a rule's text or,
    said twice, in a page; and each row is used."""
    rows = limit_rows(files["src/analysis/table/rule_limits.def"])
    used = set()
    for path, text in files.items():
        if not path.startswith(("src/analysis/", "src/view/", "src/cli/")):
            continue
        used |= set(re.findall(r"\bSS_LIMIT_(\w+)", text))
        if not RULE_FILE.match(path):
            continue
        code = PAIR_OF_RANKS.sub("", LIST_PART.sub("", code_only(text)))
        for number, line in enumerate(code.split("\n"), 1):
            for match in NUMBER.finditer(line):
                if match.group() not in PLAIN_NUMBERS:
                    yield f"{path}:{number}: {match.group()} is a row of rule_limits.def"
    for name in sorted(set(rows) - used - {"CLAIM_SAMPLES"}):
        yield f"src/analysis/table/rule_limits.def: nothing uses {name}"
    for row in re.findall(r"^SS_RULE\((.*?)\)$", files["src/analysis/diagnosis/rules.def"], re.M | re.S):
        strings = ["".join(parts) for parts in
                   (re.findall(r'"((?:\\.|[^"\\])*)"', run) for run in
                    re.findall(r'(?:"(?:\\.|[^"\\])*"\s*)+', row))]
        rule, _, _, fires, estimate = strings[:5]
        for text in (fires, estimate):
            for name in re.findall(r"\{(\w+)\}", text):
                if name not in rows:
                    yield f"src/analysis/diagnosis/rules.def: {rule}: {{{name}}} is no limit"
            match = NUMBER_WORD.search(NO_LIMIT.sub("", text))
            if match:
                yield f"src/analysis/diagnosis/rules.def: {rule}: {match.group()!r} is a row of rule_limits.def"


RULE_CASES = "fires", "just_does_not_fire", "beside_a_larger_one"


def check_rule_cases(files):
    """Each rule of the diagnosis has its three cases among the registered unit tests; no case is of a
    rule that does not exist."""
    names = re.findall(r"^SS_RULE\(\s*(\w+),", files["src/analysis/diagnosis/rules.def"], re.M)
    wanted = {f"rule_{name}_{case}" for name in names for case in RULE_CASES}
    registered = {name for path, text in files.items()
                  if path.startswith("tests/unit/analysis/test_")
                  for name in re.findall(r"\bcmocka_unit_test\w*\(\s*(rule_\w+)",
                                         without_comments(text))}
    for name in sorted(wanted - registered):
        yield f"tests/unit/analysis: no test {name}"
    for name in sorted(registered - wanted):
        yield f"tests/unit/analysis: {name} is no case of a rule"


TABLE_ROW = re.compile(r'^    \{\.id = "([^"]+)",(.*?)\.build = \w+\}', re.M | re.S)
TEST = re.compile(r"^static void (\w+)\(void \*\*state\)\n\{\n(.*?)^\}$", re.M | re.S)


def table_rows(text):
    """(id, columns) of each row of the registry of tables; columns are None where the id has one row."""
    for table, row in TABLE_ROW.findall(text):
        columns = re.search(r'\.columns = "([^"]+)"', row)
        yield table, columns and columns.group(1)


def check_table_cases(files):
    """Each row of the registry of tables has a registered unit test of its name, table_ID or
    table_ID_COLUMNS, which builds that row and compares three cells or more of one of its rows."""
    tests = {}
    for path, text in files.items():
        if path.startswith("tests/unit/analysis/test_"):
            registered = set(re.findall(r"\bcmocka_unit_test\(\s*(table_\w+)", without_comments(text)))
            bodies = dict(TEST.findall(text))
            tests.update({name: bodies.get(name, "") for name in registered})
    for table, columns in table_rows(files["src/analysis/tables/tables.c"]):
        name = "_".join(part.replace("-", "_") for part in ("table", table, columns) if part)
        body = tests.pop(name, None)
        if body is None:
            yield f"tests/unit/analysis: no test {name}"
            continue
        quoted = f'"{columns}"' if columns else "NULL"
        if not re.search(rf'\bbuild_tables\(&[\w.]+, "{table}", {quoted},', body):
            yield f"tests/unit/analysis: {name} does not build its table"
        cells = re.findall(r'\bcheck_cells\([^;"]*?((?:"(?:[^"\\]|\\.)*"\s*)+)\)', without_comments(body))
        if not any(text.count("=") >= 3 for text in cells):
            yield f"tests/unit/analysis: {name} compares fewer than three cells of a row"
    for name in sorted(tests):
        yield f"tests/unit/analysis: {name} is of no table"


def check_importer_cases(files):
    """Each importer has a unit test, tests/unit/model/test_NAME.c or test_load_NAME.c, and a fuzz target: one
    of its name, or one that names it."""
    rows = re.search(r"ss_importers\[\] = \{(.*?)\};", files["src/model/load/importers.c"], re.S).group(1)
    targets = {path: text for path, text in files.items() if path.startswith("tests/fuzz/fuzz_")}
    for name in re.findall(r"&ss_importer_(\w+)", rows):
        if not {f"tests/unit/model/test_{stem}.c" for stem in (name, f"load_{name}")} & set(files):
            yield f"tests/unit/model: no test_load_{name}.c"
        if f"tests/fuzz/fuzz_{name}.c" not in targets and not any(
                re.search(rf"&ss_importer_{name}\b", text) for text in targets.values()):
            yield f"tests/fuzz: no target reads ss_importer_{name}"


LINK = re.compile(r"(?<!`)!?\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.M)


def anchors(text):
    """The ids that a forge gives to the headings."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    names = re.findall(r'<a (?:id|name)="([^"]+)"', text)
    for heading in HEADING.findall(text):
        heading = re.sub(r"[`*]", "", heading).strip().lower()
        names.append(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-"))
    return set(names)


def check_links(files, exists):
    """Relative links of the markdown files; exists(path) tells whether a path is in the tree."""
    import posixpath
    for path, text in files.items():
        prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        for link in LINK.findall(prose):
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) \
                if target else path
            if not exists(target):
                yield f"{path}: {link} does not exist"
            elif anchor and target in files and anchor not in anchors(files[target]):
                yield f"{path}: {link}: no such heading"


NAMED_FILE = re.compile(r"(?<![\w/])((?:[\w.-]+/)+\w+\.(?:c|h|def|py|inc|js))\b")


def check_named_files(path, text, tracked):
    """Files that a page names, by the end of their path; X and cmd_x stand for any."""
    ends = {"/".join(parts[i:]) for parts in (one.split("/") for one in tracked) for i in range(len(parts))}
    for name in sorted(set(NAMED_FILE.findall(text))):
        if not re.search(r"X|_x\.", name) and name not in ends:
            yield f"{path}: {name} does not exist"


def status_rows(text):
    return re.findall(r'^SS_STATUS\((\w+), (\d+), "([^"]+)"\)', text, re.M)


def env_rows(text):
    return re.findall(r'^SS_ENV\((\w+),', text, re.M)


GETENV = re.compile(r"(?<![\w.>])(?:secure_)?getenv\s*\(")
GETENV_CALLS = calls_of("getenv secure_getenv")


def check_getenv(files):
    """Every variable of ours stands in base/env.def, so only base/env reads them. The recorder
    looks at the program's: launcher variables, and names that the user writes into -o. preload.c,
    forward.c and entry.c are in processes of any kind and have nothing of ours."""
    for path, text in files.items():
        if (path not in ("src/base/env.c", "src/inject/preload/preload.c", "src/inject/mpi/forward.c",
                         "src/inject/rocm/entry.c")
                and folder_of(path) not in (None, "record")
                and GETENV_CALLS & words_of(code_only(text)) and GETENV.search(code_only(text))):
            yield f"{path}: getenv is for base/env only; declare the variable in base/env.def"


# Who may touch the two streams, or their descriptors, without base/terminal.h: base itself. The
# exceptions hold no name that was recorded.
OUTPUT = re.compile(r"(?<![\w.>])(stdout|stderr)\b|"
                    r"(?<![\w.>])(v?printf|puts|putchar|perror|psignal|v?dprintf|v?warnx?|v?errx?)"
                    r"\s*\(|"
                    r"(?<![\w.>])(write|writev|pwrite|send|fdopen)\s*\(\s*"
                    r"(1|2|STD(OUT|ERR)_FILENO)\s*,")
OUTPUT_WORDS = frozenset({"stdout", "stderr", "stdout(", "stderr("}) | calls_of(
    "printf vprintf puts putchar perror psignal dprintf vdprintf warn warnx vwarn vwarnx err errx verr "
    "verrx write writev pwrite send fdopen")
OUTPUT_OWNERS = {
    "src/base/terminal.c": "is the stream",
    "src/base/clean.c": "cleans",
    "src/base/error.c": "a broken invariant; keeps to ASCII",
    "src/base/alloc.c": "a number of bytes",
}
ESCAPE = re.compile(r"\\(?:033|x1b|e\[)|/dev/tty", re.I)


def check_output(files):
    """All that is printed goes through the streams of base/terminal.h, which let no recorded name
    reach a terminal as a command; our own escape sequences are ss_style and ss_escape there."""
    for path, text in files.items():
        if path in OUTPUT_OWNERS or folder_of(path) is None:
            continue
        code = code_only(text)
        lines = code.split("\n") if OUTPUT_WORDS & words_of(code) else ()
        for number, line in enumerate(lines, 1):
            for match in OUTPUT.finditer(line):
                yield f"{path}:{number}: {match.group().strip()} goes round base/terminal.h"
        lines = text.split("\n") if ESCAPE.search(text) else ()
        for number, line in enumerate(lines, 1):
            if ESCAPE.search(line) and not line.lstrip().startswith(("*", "/*")):
                yield f"{path}:{number}: an escape sequence is ss_style or ss_escape"
