/* SPDX-License-Identifier: Apache-2.0 */
/* Figures and sentences of a document as Python objects: the same as in JSON. */
#include "base/strbuf.h"
#include "base/utf8.h"
#include "reading.h"
#include "view/output/sentence_text.h"

enum { MAX_TEXT_BYTES = 64 << 20 };

PyObject *ss_reading_text(struct ss_strview text)
{
    struct ss_strbuf valid;
    ss_strbuf_init(&valid, MAX_TEXT_BYTES);
    ss_utf8_append_valid(&valid, text.data, text.length);
    /* "replace": the maximum may cut a character. */
    PyObject *made = PyUnicode_DecodeUTF8(valid.data, (Py_ssize_t)valid.length, "replace");
    ss_strbuf_fini(&valid);
    return made;
}

PyObject *ss_reading_sentence(const struct ss_sentence *sentence)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    ss_sentence_append_raw(sentence, &text);
    PyObject *made = ss_reading_text((struct ss_strview){text.data, text.length});
    ss_strbuf_fini(&text);
    return made;
}

bool ss_reading_append(PyObject *list, PyObject *item)
{
    bool is_added = item != NULL && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return is_added;
}

bool ss_reading_put(PyObject *dict, const char *key, PyObject *value)
{
    bool is_set = value != NULL && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return is_set;
}

static PyObject *object_of(const struct ss_figure *figure)
{
    PyObject *dict = PyDict_New();
    for (const struct ss_figure *at = figure->members.first; dict != NULL && at != NULL;
         at = at->next) {
        if (!ss_reading_put(dict, at->key, ss_reading_figure(at))) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static PyObject *list_of(const struct ss_figure *figure)
{
    PyObject *list = PyList_New(0);
    for (const struct ss_figure *at = figure->members.first; list != NULL && at != NULL;
         at = at->next) {
        if (!ss_reading_append(list, ss_reading_figure(at))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

PyObject *ss_reading_figure(const struct ss_figure *figure)
{
    switch (figure->type) {
    case SS_FIGURE_BOOLEAN:
        return PyBool_FromLong(figure->boolean);
    case SS_FIGURE_INTEGER:
        return PyLong_FromLongLong(figure->integer);
    case SS_FIGURE_REAL:
        return PyFloat_FromDouble(figure->real);
    case SS_FIGURE_TEXT:
        return ss_reading_text(figure->text);
    case SS_FIGURE_SENTENCE:
        return ss_reading_sentence(&figure->sentence);
    case SS_FIGURE_LIST:
        return list_of(figure);
    case SS_FIGURE_OBJECT:
        return object_of(figure);
    case SS_FIGURE_NULL:
        break;
    }
    Py_RETURN_NONE;
}
