# SPDX-License-Identifier: Apache-2.0
# stepscope_embed(LAYER FILE SYMBOL): FILE becomes `const char SYMBOL[]` (NUL-terminated) and
# `const size_t SYMBOL_length`, declared by the layer's own header.
function(stepscope_embed layer file symbol)
  stepscope_embed_in(ss_${layer} ${file} ${symbol})
endfunction()

function(stepscope_embed_in target file symbol)
  set(output "${CMAKE_BINARY_DIR}/generated/assets/${symbol}.c")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DINPUT=${CMAKE_SOURCE_DIR}/${file}" "-DOUTPUT=${output}"
            "-DSYMBOL=${symbol}" -P "${CMAKE_SOURCE_DIR}/cmake/embed.cmake"
    DEPENDS "${CMAKE_SOURCE_DIR}/${file}" "${CMAKE_SOURCE_DIR}/cmake/embed.cmake"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()

# stepscope_embed_files(TARGET SYMBOL FILE…): `const char *const SYMBOL[]` has the name (without
# folder and suffix) and the text of each file in turn, then NULL.
function(stepscope_embed_files target symbol)
  set(output "${CMAKE_BINARY_DIR}/generated/assets/${symbol}.c")
  list(TRANSFORM ARGN PREPEND "${CMAKE_SOURCE_DIR}/" OUTPUT_VARIABLE files)
  string(REPLACE ";" "|" joined "${files}")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DINPUTS=${joined}" "-DOUTPUT=${output}" "-DSYMBOL=${symbol}"
            -P "${CMAKE_SOURCE_DIR}/cmake/embed.cmake"
    DEPENDS ${files} "${CMAKE_SOURCE_DIR}/cmake/embed.cmake"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()

# stepscope_embed_page(TARGET SYMBOL FILE…): the same, and after each text its SHA-256 in hexadecimal,
# by which a policy of a page allows it.
function(stepscope_embed_page target symbol)
  set(output "${CMAKE_BINARY_DIR}/generated/assets/${symbol}.c")
  list(TRANSFORM ARGN PREPEND "${CMAKE_SOURCE_DIR}/" OUTPUT_VARIABLE files)
  string(REPLACE ";" "|" joined "${files}")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DINPUTS=${joined}" "-DOUTPUT=${output}" "-DSYMBOL=${symbol}"
            -DHASHED=ON -P "${CMAKE_SOURCE_DIR}/cmake/embed.cmake"
    DEPENDS ${files} "${CMAKE_SOURCE_DIR}/cmake/embed.cmake"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
