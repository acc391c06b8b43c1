# SPDX-License-Identifier: Apache-2.0
"""The rules of the house as functions from files ({path: text}) to complaints (strings)."""

import re

# Which folder of src/ may include which (ARCHITECTURE.md tells why). A folder may include itself.
LAYERS = {
    "base": set(),
    "ring": {"base"},
    "annot": {"base", "ring"},
    "inject": {"base", "ring", "annot", "unwind"},
    "platform": {"base"},
    "unwind": {"base"},
    "source": {"base", "ring", "platform", "unwind"},
    "wire": {"base"},
    "trace": {"base", "wire"},
    "record": {"base", "platform", "ring", "source", "trace"},
    "model": {"base", "trace"},
    "analysis": {"base", "model"},
    "view": {"base", "model", "analysis"},
    "cli": {"base", "annot", "platform", "unwind", "source", "wire", "trace", "record", "model",
            "analysis", "view"},
    # The public library: a thin face on the reader.
    "lib": {"base", "trace"},
}

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


def code_only(text):
    """C without comments and literals; line numbers stay."""
    return NO_CODE.sub(lambda match: "\n" * match.group().count("\n") or " ", text)


def folder_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


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


def check_include_cycles(files):
    """Files that include each other, over any number of steps."""
    graph = {path.removeprefix("src/"): INCLUDE.findall(text) for path, text in files.items()}
    done, path = set(), []

    def visit(node):
        if node in path:
            yield "include cycle: " + " -> ".join(path[path.index(node):] + [node])
        elif node not in done and node in graph:
            path.append(node)
            for target in graph[node]:
                yield from visit(target)
            path.pop()
            done.add(node)

    for node in sorted(graph):
        yield from visit(node)


def check_layer_cycles(layers):
    graph = {f"src/{name}": "".join(f'#include "{one}"\n' for one in may)
             for name, may in layers.items()}
    return check_include_cycles(graph)


CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")


def check_banned_calls(files):
    for path, text in files.items():
        folder = folder_of(path) or ""
        for number, line in enumerate(code_only(text).split("\n"), 1):
            for name in CALL.findall(line):
                if folder not in BANNED[name]:
                    yield f"{path}:{number}: {name} is not called here"


COMMENTED = re.compile(r"(\.(c|h|def|inc|in|py|sh|cmake|js|mjs|css|map|toml|cfg|ini)|"
                       r"/CMakeLists\.txt|/Makefile)$")


def check_spdx(files):
    for path, text in files.items():
        lines = text.split("\n", 3)
        if COMMENTED.search("/" + path) or lines[0].startswith("#!"):
            first = lines[1] if lines[0].startswith("#!") else lines[0]
            if "SPDX-License-Identifier: Apache-2.0" not in first:
                yield f"{path}: the first line is not its SPDX identifier"


FORBIDDEN = {
    r"(?<![\w/.])/(work|root)/": "a folder of one machine",
    r"\b[Ii]ssues? #?\d+|\b([Ff]ix(es)?|[Cc]loses?|[Rr]esolves?|PR|[Pp]ull request) #\d+":
        "an issue number",
    r"\b(pypi\.org|pythonhosted\.org|deb\.debian\.org|registry\.npmjs\.org|npmjs\.com)\b":
        "the host of a package registry",
    r"\b([Cc]laude|ChatGPT|GPT-\d|LLM|language model|AI[- ]generated)\b": "how it was made",
    r"\b(TODO|FIXME|XXX|HACK)\b": "unfinished work",
}


def check_forbidden_words(files):
    for path, text in files.items():
        for pattern, meaning in FORBIDDEN.items():
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: {match.group()!r} speaks of {meaning}"


COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
# Words that comments no longer use, and the term instead (docs/glossary.md).
RETIRED = {
    r"tells?|telling|told|news": "emits, publishes, notifies, a notification",
    r"(?:looks?|looked|looking)(?! up\b| like\b)": "polls, scans, refreshes, reads",
    r"meets?|met": "observes, detects, attaches to",
    r"whoever|whom|somebody|anybody|nobody|he|him|himself|his": "the actor's name",
    r"usual steps?": "steady-state step",
    r"its like|the likes of": "peers",
    r"wish|wishes|wished": "request",
    r"goes along with|go along with|leader": "follows the windows of, window owner",
    r"homeless": "unbuffered",
    r"thinly|load thin": "downsampled",
}
def comments_of(text):
    """[(line, comment)]: from 1."""
    return [(text.count("\n", 0, match.start()) + 1, match.group())
            for match in COMMENT.finditer(text) if not match.group().startswith('"')]


def check_retired_words(files):
    for path, text in files.items():
        for line, comment in comments_of(text):
            for words, instead in RETIRED.items():
                for match in re.finditer(rf"\b({words})\b", comment, re.I):
                    number = line + comment.count("\n", 0, match.start())
                    yield f"{path}:{number}: {match.group()!r} is retired: {instead}"


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


def status_rows(text):
    return re.findall(r'^SS_STATUS\((\w+), (\d+), "([^"]+)"\)', text, re.M)


def env_rows(text):
    return re.findall(r'^SS_ENV\((\w+),', text, re.M)


GETENV = re.compile(r"(?<![\w.>])(?:secure_)?getenv\s*\(")


def check_getenv(files):
    """Every variable of ours stands in base/env.def, so only base/env reads them. The recorder
    looks at the program's: launcher variables, and names that the user writes into -o. preload.c is
    in processes of any kind and has nothing of ours."""
    for path, text in files.items():
        if (path not in ("src/base/env.c", "src/inject/preload.c")
                and folder_of(path) not in (None, "record")
                and GETENV.search(code_only(text))):
            yield f"{path}: getenv is for base/env only; declare the variable in base/env.def"


# Who may touch the two streams, or their descriptors, without base/terminal.h: base itself. The
# exceptions hold no name that was recorded.
OUTPUT = re.compile(r"(?<![\w.>])(stdout|stderr)\b|"
                    r"(?<![\w.>])(v?printf|puts|putchar|perror|psignal|v?dprintf|v?warnx?|v?errx?)"
                    r"\s*\(|"
                    r"(?<![\w.>])(write|writev|pwrite|send|fdopen)\s*\(\s*"
                    r"(1|2|STD(OUT|ERR)_FILENO)\s*,|/dev/tty")
OUTPUT_OWNERS = {
    "src/base/terminal.c": "is the stream",
    "src/base/clean.c": "cleans",
    "src/base/error.c": "a broken invariant; keeps to ASCII",
    "src/base/alloc.c": "a number of bytes",
}
ESCAPE = re.compile(r"\\(033|x1b|e\[)", re.I)


def check_output(files):
    """All that is printed goes through the streams of base/terminal.h, which let no recorded name
    reach a terminal as a command; our own escape sequences are ss_style and ss_escape there."""
    for path, text in files.items():
        if path in OUTPUT_OWNERS or folder_of(path) is None:
            continue
        for number, line in enumerate(code_only(text).split("\n"), 1):
            for match in OUTPUT.finditer(line):
                yield f"{path}:{number}: {match.group().strip()} goes round base/terminal.h"
        for number, line in enumerate(text.split("\n"), 1):
            if ESCAPE.search(line) and not line.lstrip().startswith(("*", "/*")):
                yield f"{path}:{number}: an escape sequence is ss_style or ss_escape"
