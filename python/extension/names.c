/* SPDX-License-Identifier: Apache-2.0 */
/* Names, colours, domains and payloads, from Python's objects. */
#include "extension.h"

enum { SEEN_LOG2 = 10, SEEN_COUNT = 1 << SEEN_LOG2 };

static PyObject *domains; /* str → int */

static size_t slot_of(PyObject *text)
{
    uint64_t mixed = (uint64_t)(uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed >> (64 - SEEN_LOG2));
}

static stepscope_name intern(PyObject *text)
{
    Py_ssize_t length;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &length);
    if (bytes != NULL) {
        return ss_runtime->intern(bytes, (size_t)length);
    }
    PyErr_Clear(); /* half of a surrogate pair */
    PyObject *encoded = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    if (encoded == NULL) {
        PyErr_Clear();
        return 0;
    }
    stepscope_name name =
        ss_runtime->intern(PyBytes_AS_STRING(encoded), (size_t)PyBytes_GET_SIZE(encoded));
    Py_DECREF(encoded);
    return name;
}

/* str objects seen lately, by address: the constants of the source. A reference keeps each at its
 * address while it is here. */
#ifdef Py_GIL_DISABLED
/* Address << 16 | name, so that one load reads both. The caller holds a reference to the object,
 * and an object that was freed at its address before has left its slot before. */
static uint64_t seen[SEEN_COUNT];
_Static_assert(sizeof(uintptr_t) == 8, "addresses have bits to spare");

stepscope_name ss_name_of(PyObject *text)
{
    uint64_t *slot = &seen[slot_of(text)], address = (uintptr_t)text;
    uint64_t word = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (__builtin_expect(word >> 16 == address && address != 0, 1)) {
        return (stepscope_name)(word & 0xffff);
    }
    stepscope_name name = intern(text);
    if (address >> 48 == 0 && name <= 0xffff) {
        Py_INCREF(text);
        word = __atomic_exchange_n(slot, address << 16 | name, __ATOMIC_ACQ_REL);
        Py_XDECREF((PyObject *)(uintptr_t)(word >> 16)); // NOLINT(performance-no-int-to-ptr)
    }
    return name;
}

/* str → (colour, category), the style that the name has been given. */
static PyObject *styles;
enum { MAX_STYLES = 4096 };

static bool has_style(PyObject *text, PyObject *color, PyObject *category)
{
    PyObject *known = NULL;
    bool same = PyDict_GetItemRef(styles, text, &known) > 0 &&
                PyTuple_GET_ITEM(known, 0) == (color != NULL ? color : Py_None) &&
                PyTuple_GET_ITEM(known, 1) == (category != NULL ? category : Py_None);
    Py_XDECREF(known);
    PyErr_Clear();
    return same;
}

static void keep_style(PyObject *text, PyObject *color, PyObject *category)
{
    PyObject *style =
        PyTuple_Pack(2, color != NULL ? color : Py_None, category != NULL ? category : Py_None);
    if (PyDict_Size(styles) >= MAX_STYLES) {
        PyDict_Clear(styles);
    }
    if (style != NULL) {
        PyDict_SetItem(styles, text, style);
    }
    Py_XDECREF(style);
    PyErr_Clear();
}

static bool init_styles(void)
{
    styles = PyDict_New();
    return styles != NULL;
}
#else
static struct seen {
    PyObject *text, *color, *category; /* the last two: the style that the name has been given */
    stepscope_name name;
} seen[SEEN_COUNT];

stepscope_name ss_name_of(PyObject *text)
{
    struct seen *entry = &seen[slot_of(text)];
    if (__builtin_expect(entry->text == text, 1)) {
        return entry->name;
    }
    stepscope_name name = intern(text);
    struct seen old = *entry;
    Py_INCREF(text);
    *entry = (struct seen){.text = text, .name = name};
    Py_XDECREF(old.text); /* which may run anything */
    Py_XDECREF(old.color);
    Py_XDECREF(old.category);
    return name;
}

static bool has_style(PyObject *text, PyObject *color, PyObject *category)
{
    const struct seen *entry = &seen[slot_of(text)];
    return entry->text == text && entry->color == color && entry->category == category;
}

static void keep_style(PyObject *text, PyObject *color, PyObject *category)
{
    struct seen *entry = &seen[slot_of(text)];
    if (entry->text == text) {
        Py_XINCREF(color);
        Py_XINCREF(category);
        Py_XSETREF(entry->color, color);
        Py_XSETREF(entry->category, category);
    }
}

static bool init_styles(void)
{
    return true;
}
#endif

/* Takes a colour through stepscope._colors.argb: a name, "#rrggbb", or a number. */
static bool argb_of(PyObject *color, uint32_t *argb)
{
    PyObject *module = PyImport_ImportModule("stepscope._colors");
    PyObject *number = module != NULL ? PyObject_CallMethod(module, "argb", "O", color) : NULL;
    Py_XDECREF(module);
    if (number == NULL) {
        return false;
    }
    *argb = (uint32_t)PyLong_AsUnsignedLongMask(number);
    Py_DECREF(number);
    return !PyErr_Occurred();
}

static bool text_or_none(PyObject *value, const char *what)
{
    if (value == NULL || value == Py_None || PyUnicode_Check(value)) {
        return true;
    }
    PyErr_Format(PyExc_TypeError, "%s must be a str, not %.100s", what, Py_TYPE(value)->tp_name);
    return false;
}

/* The style belongs to the name: given once, not with each range. */
static bool give_style(PyObject *text, PyObject *color, PyObject *category)
{
    stepscope_name name = ss_name_of(text);
    if (has_style(text, color, category)) {
        return true;
    }
    uint32_t argb = 0;
    if ((color != NULL && color != Py_None && !argb_of(color, &argb)) ||
        !text_or_none(category, "category")) {
        return false;
    }
    const char *category_text =
        category != NULL && category != Py_None ? PyUnicode_AsUTF8(category) : NULL;
    if (category_text == NULL && PyErr_Occurred()) {
        return false;
    }
    ss_runtime->style(name, argb, category_text);
    keep_style(text, color, category);
    return true;
}

stepscope_domain ss_domain_of(PyObject *text)
{
    if (text == NULL || text == Py_None) {
        return 0;
    }
    if (!text_or_none(text, "domain")) {
        return (stepscope_domain)-1;
    }
    /* Borrowed: numbers below 257 are never freed, and none leaves the dictionary. */
    PyObject *known = PyDict_GetItemWithError(domains, text);
    if (known != NULL || PyErr_Occurred()) {
        return known != NULL ? (stepscope_domain)PyLong_AsLong(known) : (stepscope_domain)-1;
    }
    const char *bytes = PyUnicode_AsUTF8(text);
    if (bytes == NULL) {
        return (stepscope_domain)-1;
    }
    stepscope_domain domain = ss_runtime->domain(bytes);
    PyObject *number = PyLong_FromUnsignedLong(domain);
    bool kept = number != NULL && PyDict_SetItem(domains, text, number) == 0;
    Py_XDECREF(number);
    return kept ? domain : (stepscope_domain)-1;
}

static bool integer_of(PyObject *value, uint8_t *type, uint64_t *bits)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow == 0) {
        *type = STEPSCOPE_INT;
        *bits = (uint64_t)number;
        return number != -1 || !PyErr_Occurred();
    }
    unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(value) : 0;
    *type = STEPSCOPE_UINT;
    *bits = large;
    if (overflow > 0 && !PyErr_Occurred()) {
        return true;
    }
    PyErr_Clear(); /* wider than 64 bits: as near as a double comes */
    double real = PyLong_AsDouble(value);
    PyErr_Clear();
    *type = STEPSCOPE_DOUBLE;
    memcpy(bits, &real, sizeof *bits);
    return true;
}

bool ss_value_of(PyObject *value, uint8_t *type, uint64_t *bits)
{
    if (value == NULL || value == Py_None) {
        *type = STEPSCOPE_NO_PAYLOAD;
        *bits = 0;
        return true;
    }
    if (PyFloat_Check(value)) {
        double real = PyFloat_AS_DOUBLE(value);
        *type = STEPSCOPE_DOUBLE;
        memcpy(bits, &real, sizeof *bits);
        return true;
    }
    if (PyLong_Check(value)) {
        return integer_of(value, type, bits);
    }
    if (PyUnicode_Check(value)) {
        *type = STEPSCOPE_NAME;
        *bits = ss_name_of(value);
        return true;
    }
    double real = PyFloat_AsDouble(value); /* numpy's and torch's scalars */
    if (real == -1.0 && PyErr_Occurred()) {
        return false;
    }
    *type = STEPSCOPE_DOUBLE;
    memcpy(bits, &real, sizeof *bits);
    return true;
}

/* --- arguments --- */

enum { NAME, COLOR, DOMAIN, CATEGORY, PAYLOAD, PARAMETER_COUNT };
static const char *const parameters[PARAMETER_COUNT] = {"name", "color", "domain", "category",
                                                        "payload"};

static bool take_keyword(const char *function, PyObject *keyword, PyObject *value,
                         PyObject *values[PARAMETER_COUNT])
{
    for (int i = 0; i < PARAMETER_COUNT; i++) {
        if (PyUnicode_CompareWithASCIIString(keyword, parameters[i]) == 0) {
            if (values[i] != NULL) {
                PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%s'",
                             function, parameters[i]);
                return false;
            }
            values[i] = value;
            return true;
        }
    }
    PyErr_Format(PyExc_TypeError,
                 "%s() got an unexpected keyword argument '%U'; it takes name, color, domain, "
                 "category and payload",
                 function, keyword);
    return false;
}

static bool apply(struct ss_label *label, PyObject *values[PARAMETER_COUNT], PyObject **first)
{
    PyObject *name = values[NAME];
    if (name != NULL && PyUnicode_Check(name)) {
        Py_INCREF(name);
        label->text = name;
    } else if (name != NULL && name != Py_None) {
        *first = name;
    }
    label->domain = ss_domain_of(values[DOMAIN]);
    if (label->domain == (stepscope_domain)-1 ||
        !ss_value_of(values[PAYLOAD], &label->payload, &label->bits)) {
        return false;
    }
    bool has_style = values[COLOR] != NULL || values[CATEGORY] != NULL;
    return !has_style || label->text == NULL ||
           give_style(label->text, values[COLOR], values[CATEGORY]);
}

bool ss_label_parse(struct ss_label *label, const char *function, PyObject *const *args,
                    Py_ssize_t count, PyObject *keywords, PyObject **first)
{
    *label = (struct ss_label){0};
    *first = NULL;
    if (__builtin_expect(count == 1 && keywords == NULL && PyUnicode_CheckExact(args[0]), 1)) {
        Py_INCREF(args[0]);
        label->text = args[0];
        return true;
    }
    PyObject *values[PARAMETER_COUNT] = {NULL};
    if (count > PARAMETER_COUNT) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments (%zd given)", function,
                     PARAMETER_COUNT, count);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        values[i] = args[i];
    }
    Py_ssize_t keyword_count = keywords != NULL ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < keyword_count; i++) {
        if (!take_keyword(function, PyTuple_GET_ITEM(keywords, i), args[count + i], values)) {
            return false;
        }
    }
    if (apply(label, values, first)) {
        return true;
    }
    Py_CLEAR(label->text);
    return false;
}

/* The last part of a path. */
static PyObject *base_name(PyObject *path)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(path);
    Py_ssize_t slash = PyUnicode_FindChar(path, '/', 0, length, -1);
    return PyUnicode_Substring(path, slash >= 0 ? slash + 1 : 0, length);
}

#if PY_VERSION_HEX < 0x03090000
#include <frameobject.h>
#endif

static PyObject *line_of_caller(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL) {
        return NULL;
    }
#if PY_VERSION_HEX < 0x03090000
    PyObject *code = (PyObject *)frame->f_code;
    Py_INCREF(code);
#else
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);
#endif
    PyObject *path = PyObject_GetAttrString(code, "co_filename");
    PyObject *file = path != NULL && PyUnicode_Check(path) ? base_name(path) : NULL;
    PyObject *text =
        file != NULL ? PyUnicode_FromFormat("%U:%d", file, PyFrame_GetLineNumber(frame)) : NULL;
    Py_XDECREF(file);
    Py_XDECREF(path);
    Py_DECREF(code);
    return text;
}

void ss_label_name_by_line(struct ss_label *label)
{
    PyObject *text = line_of_caller(), *none = NULL;
    if (text == NULL) {
        PyErr_Clear();
        text = PyUnicode_InternFromString("<no name>");
    }
    PyErr_Clear();
    if (!__atomic_compare_exchange_n(&label->text, &none, text, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        Py_XDECREF(text);
    }
}

bool ss_names_init(void)
{
    domains = PyDict_New();
    return domains != NULL && init_styles();
}
