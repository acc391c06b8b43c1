# SPDX-License-Identifier: Apache-2.0
file(READ "${INPUT}" hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR length "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "((0x[0-9a-f][0-9a-f],){16})" "\\1\n" bytes "${bytes}")
file(WRITE "${OUTPUT}" "/* Generated from ${INPUT}. */\n#include <stddef.h>\n\n"
  "extern const char ${SYMBOL}[];\nextern const size_t ${SYMBOL}_length;\n"
  "const char ${SYMBOL}[] = {\n${bytes}0x00};\nconst size_t ${SYMBOL}_length = ${length};\n")
