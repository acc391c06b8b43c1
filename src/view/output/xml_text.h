/* SPDX-License-Identifier: Apache-2.0 */
/* Text within XML. */
#ifndef SS_VIEW_OUTPUT_XML_TEXT_H
#define SS_VIEW_OUTPUT_XML_TEXT_H

#include "view/output/sink.h"

/* For content and attributes: characters of markup become references, and U+FFFD replaces what XML
 * cannot represent. */
void ss_xml_write(struct ss_sink *sink, struct ss_strview text);

#endif
