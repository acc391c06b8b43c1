# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a C file with the bytes of INPUT, or of each of INPUTS (cmake/assets.cmake).
function(read_bytes file bytes length)
  file(READ "${file}" hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(REGEX REPLACE "((0x[0-9a-f][0-9a-f],){16})" "\\1\n" hex "${hex}")
  set(${bytes} "${hex}" PARENT_SCOPE)
  set(${length} "${size}" PARENT_SCOPE)
endfunction()

if(DEFINED INPUT)
  read_bytes("${INPUT}" bytes length)
  file(WRITE "${OUTPUT}" "/* Generated from ${INPUT}. */\n#include <stddef.h>\n\n"
    "extern const char ${SYMBOL}[];\nextern const size_t ${SYMBOL}_length;\n"
    "const char ${SYMBOL}[] = {\n${bytes}0x00};\nconst size_t ${SYMBOL}_length = ${length};\n")
  return()
endif()

string(REPLACE "|" ";" INPUTS "${INPUTS}")
file(WRITE "${OUTPUT}" "/* Generated. */\n#include <stddef.h>\n\nextern const char *const ${SYMBOL}[];\n")
set(rows "")
foreach(input IN LISTS INPUTS)
  get_filename_component(name "${input}" NAME_WE)
  read_bytes("${input}" bytes length)
  file(APPEND "${OUTPUT}" "static const char text_${name}[] = {\n${bytes}0x00};\n")
  string(APPEND rows "    \"${name}\", text_${name},\n")
  if(HASHED)
    file(SHA256 "${input}" hash)
    string(APPEND rows "    \"${hash}\",\n")
  endif()
endforeach()
file(APPEND "${OUTPUT}" "const char *const ${SYMBOL}[] = {\n${rows}    NULL};\n")
