/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints one row of src/unwind/cpython_3_N.inc: the offsets of one CPython build, measured by the
 * compiler in that build's own internal headers. Compiled by generate.py, once per interpreter and
 * flavour; needs no running interpreter and is not linked with one.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <opcode.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "internal/pycore_pystate.h"
#if PY_VERSION_HEX >= 0x03090000
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#endif
#if PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_dict.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_moduleobject.h"
#include "internal/pycore_object.h"
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe.h"
#include "internal/pycore_interpframe_structs.h"
#include "internal/pycore_unicodeobject.h"
#endif

#define PUT(name, value) printf("    ." #name " = %ld,\n", (long)(value))
#define ABSENT(name) printf("    ." #name " = SS_ABSENT,\n")
#define OFFSET(name, type, field) PUT(name, offsetof(type, field))

/* Headers that an installation lacks or hides; the shapes are those of Objects/dictobject.c and
 * Objects/dict-common.h, Objects/moduleobject.c of these versions. */
#if PY_VERSION_HEX < 0x030b0000
struct dict_keys_shape {
    Py_ssize_t dk_refcnt;
    Py_ssize_t dk_size_or_log2;
    void *dk_lookup;
    Py_ssize_t dk_usable;
    Py_ssize_t dk_nentries;
    char dk_indices[];
};
struct module_shape {
    PyObject_HEAD PyObject *md_dict;
};
#endif

static int bit_of(PyASCIIObject *object)
{
    unsigned word;
    memcpy(&word, &object->state, sizeof word);
    return word == 0 ? -1 : __builtin_ctz(word);
}

static void put_runtime(void)
{
    PUT(runtime_size, sizeof(_PyRuntimeState));
    OFFSET(runtime_interpreters_head, _PyRuntimeState, interpreters.head);
    OFFSET(runtime_interpreters_main, _PyRuntimeState, interpreters.main);
#if PY_VERSION_HEX < 0x030c0000
    OFFSET(runtime_gil, _PyRuntimeState, ceval.gil);
#else
    ABSENT(runtime_gil);
#endif
    PUT(gil_size, sizeof(struct _gil_runtime_state));
    OFFSET(gil_last_holder, struct _gil_runtime_state, last_holder);
    OFFSET(gil_locked, struct _gil_runtime_state, locked);
    OFFSET(gil_switch_number, struct _gil_runtime_state, switch_number);
#ifdef Py_GIL_DISABLED
    OFFSET(gil_enabled, struct _gil_runtime_state, enabled);
#else
    ABSENT(gil_enabled);
#endif
}

static void put_interpreter(void)
{
    PUT(interp_size, sizeof(PyInterpreterState));
    OFFSET(interp_id, PyInterpreterState, id);
    OFFSET(interp_next, PyInterpreterState, next);
#if PY_VERSION_HEX < 0x030b0000
    OFFSET(interp_threads_head, PyInterpreterState, tstate_head);
#else
    OFFSET(interp_threads_head, PyInterpreterState, threads.head);
#endif
#if PY_VERSION_HEX < 0x030c0000
    OFFSET(interp_modules, PyInterpreterState, modules);
    ABSENT(interp_gil);
#else
    OFFSET(interp_modules, PyInterpreterState, imports.modules);
    OFFSET(interp_gil, PyInterpreterState, ceval.gil);
#endif
}

static void put_thread(void)
{
    PUT(tstate_size, sizeof(PyThreadState));
    OFFSET(tstate_next, PyThreadState, next);
    OFFSET(tstate_interp, PyThreadState, interp);
    OFFSET(tstate_thread_id, PyThreadState, thread_id);
#if PY_VERSION_HEX < 0x030b0000
    OFFSET(tstate_frame, PyThreadState, frame);
    ABSENT(tstate_native_thread_id);
    ABSENT(tstate_datastack_chunk);
    ABSENT(tstate_datastack_top);
    ABSENT(chunk_previous);
    ABSENT(chunk_size);
    ABSENT(chunk_data);
#else
    ABSENT(tstate_frame);
    OFFSET(tstate_native_thread_id, PyThreadState, native_thread_id);
    OFFSET(tstate_datastack_chunk, PyThreadState, datastack_chunk);
    OFFSET(tstate_datastack_top, PyThreadState, datastack_top);
    OFFSET(chunk_previous, _PyStackChunk, previous);
    OFFSET(chunk_size, _PyStackChunk, size);
    OFFSET(chunk_data, _PyStackChunk, data);
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030d0000
    OFFSET(tstate_cframe, PyThreadState, cframe);
    OFFSET(cframe_current_frame, _PyCFrame, current_frame);
#else
    ABSENT(tstate_cframe);
    ABSENT(cframe_current_frame);
#endif
#if PY_VERSION_HEX >= 0x030d0000
    OFFSET(tstate_current_frame, PyThreadState, current_frame);
#else
    ABSENT(tstate_current_frame);
#endif
}

static void put_frame(void)
{
#if PY_VERSION_HEX < 0x030b0000
#if PY_VERSION_HEX < 0x030a0000
    PUT(frame_size, offsetof(PyFrameObject, f_executing) + 1);
    OFFSET(frame_state, PyFrameObject, f_executing);
    PUT(frame_executing, 1);
#else
    PUT(frame_size, offsetof(PyFrameObject, f_state) + 1);
    OFFSET(frame_state, PyFrameObject, f_state);
    PUT(frame_executing, FRAME_EXECUTING);
#endif
    OFFSET(frame_code, PyFrameObject, f_code);
    OFFSET(frame_previous, PyFrameObject, f_back);
    OFFSET(frame_lasti, PyFrameObject, f_lasti);
    ABSENT(frame_instr);
    ABSENT(frame_owner);
    OFFSET(frame_locals, PyFrameObject, f_localsplus);
    ABSENT(frame_stacktop);
    ABSENT(frame_stackpointer);
    ABSENT(frame_is_entry);
#else
    PUT(frame_size, offsetof(_PyInterpreterFrame, owner) + 1);
    OFFSET(frame_previous, _PyInterpreterFrame, previous);
    ABSENT(frame_lasti);
    ABSENT(frame_state);
    ABSENT(frame_executing);
    OFFSET(frame_owner, _PyInterpreterFrame, owner);
    OFFSET(frame_locals, _PyInterpreterFrame, localsplus);
#if PY_VERSION_HEX < 0x030d0000
    OFFSET(frame_code, _PyInterpreterFrame, f_code);
    OFFSET(frame_instr, _PyInterpreterFrame, prev_instr);
#else
    OFFSET(frame_code, _PyInterpreterFrame, f_executable);
    OFFSET(frame_instr, _PyInterpreterFrame, instr_ptr);
#endif
#if PY_VERSION_HEX < 0x030e0000
    OFFSET(frame_stacktop, _PyInterpreterFrame, stacktop);
    ABSENT(frame_stackpointer);
#else
    ABSENT(frame_stacktop);
    OFFSET(frame_stackpointer, _PyInterpreterFrame, stackpointer);
#endif
#if PY_VERSION_HEX < 0x030c0000
    OFFSET(frame_is_entry, _PyInterpreterFrame, is_entry);
#else
    ABSENT(frame_is_entry);
#endif
#endif
}

static void put_instructions(void)
{
#if PY_VERSION_HEX >= 0x030b0000
    PUT(op_return_value, RETURN_VALUE);
#else
    ABSENT(op_return_value);
#endif
#if PY_VERSION_HEX >= 0x030c0000 && PY_VERSION_HEX < 0x030e0000
    PUT(op_return_const, RETURN_CONST);
    PUT(op_instrumented_return_value, INSTRUMENTED_RETURN_VALUE);
    PUT(op_instrumented_return_const, INSTRUMENTED_RETURN_CONST);
#elif PY_VERSION_HEX >= 0x030e0000
    ABSENT(op_return_const);
    PUT(op_instrumented_return_value, INSTRUMENTED_RETURN_VALUE);
    ABSENT(op_instrumented_return_const);
#else
    ABSENT(op_return_const);
    ABSENT(op_instrumented_return_value);
    ABSENT(op_instrumented_return_const);
#endif
}

static void put_code(void)
{
    PUT(code_size, sizeof(PyCodeObject));
    OFFSET(code_filename, PyCodeObject, co_filename);
    OFFSET(code_name, PyCodeObject, co_name);
    OFFSET(code_firstlineno, PyCodeObject, co_firstlineno);
#if PY_VERSION_HEX >= 0x030b0000
    ABSENT(code_flags);
#else
    OFFSET(code_flags, PyCodeObject, co_flags);
#endif
#if PY_VERSION_HEX >= 0x030c0000
    ABSENT(code_stacksize);
    ABSENT(code_nlocalsplus);
    OFFSET(code_framesize, PyCodeObject, co_framesize);
#elif PY_VERSION_HEX >= 0x030b0000
    OFFSET(code_stacksize, PyCodeObject, co_stacksize);
    OFFSET(code_nlocalsplus, PyCodeObject, co_nlocalsplus);
    ABSENT(code_framesize);
#else
    ABSENT(code_stacksize);
    ABSENT(code_nlocalsplus);
    ABSENT(code_framesize);
#endif
#if PY_VERSION_HEX < 0x030a0000
    OFFSET(code_linetable, PyCodeObject, co_lnotab);
#else
    OFFSET(code_linetable, PyCodeObject, co_linetable);
#endif
#if PY_VERSION_HEX < 0x030b0000
    ABSENT(code_qualname);
    OFFSET(code_code, PyCodeObject, co_code);
    ABSENT(code_bytecode);
#else
    OFFSET(code_qualname, PyCodeObject, co_qualname);
    ABSENT(code_code);
    OFFSET(code_bytecode, PyCodeObject, co_code_adaptive);
#endif
#if PY_VERSION_HEX >= 0x030e0000 && defined(Py_GIL_DISABLED)
    OFFSET(code_tlbc, PyCodeObject, co_tlbc);
#else
    ABSENT(code_tlbc);
#endif
}

static void put_objects(void)
{
    OFFSET(object_type, PyObject, ob_type);
    OFFSET(var_size, PyVarObject, ob_size);
    OFFSET(type_name, PyTypeObject, tp_name);
    OFFSET(type_flags, PyTypeObject, tp_flags);
    OFFSET(type_basicsize, PyTypeObject, tp_basicsize);
    OFFSET(type_dictoffset, PyTypeObject, tp_dictoffset);
    OFFSET(type_cached_keys, PyHeapTypeObject, ht_cached_keys);
    OFFSET(bytes_data, PyBytesObject, ob_sval);
    OFFSET(unicode_length, PyASCIIObject, length);
    OFFSET(unicode_state, PyASCIIObject, state);
    PyASCIIObject object;
    memset(&object, 0, sizeof object);
    object.state.kind = 1;
    PUT(unicode_kind_shift, bit_of(&object));
    memset(&object, 0, sizeof object);
    object.state.compact = 1;
    PUT(unicode_compact_shift, bit_of(&object));
    memset(&object, 0, sizeof object);
    object.state.ascii = 1;
    PUT(unicode_ascii_shift, bit_of(&object));
    PUT(unicode_ascii_data, sizeof(PyASCIIObject));
    PUT(unicode_compact_data, sizeof(PyCompactUnicodeObject));
#if PY_VERSION_HEX < 0x030c0000
    ABSENT(long_tag);
    OFFSET(long_digits, struct _longobject, ob_digit);
#else
    OFFSET(long_tag, struct _longobject, long_value.lv_tag);
    OFFSET(long_digits, struct _longobject, long_value.ob_digit);
#endif
}

static void put_dict(void)
{
    OFFSET(dict_keys, PyDictObject, ma_keys);
    OFFSET(dict_values, PyDictObject, ma_values);
#if PY_VERSION_HEX < 0x030b0000
    OFFSET(keys_size, struct dict_keys_shape, dk_size_or_log2);
    ABSENT(keys_log2_size);
    ABSENT(keys_log2_index_bytes);
    ABSENT(keys_kind);
    OFFSET(keys_nentries, struct dict_keys_shape, dk_nentries);
    OFFSET(keys_indices, struct dict_keys_shape, dk_indices);
    PUT(values_data, 0);
    ABSENT(managed_dict);
    OFFSET(module_dict, struct module_shape, md_dict);
#else
    ABSENT(keys_size);
    OFFSET(keys_log2_size, struct _dictkeysobject, dk_log2_size);
    OFFSET(keys_log2_index_bytes, struct _dictkeysobject, dk_log2_index_bytes);
    OFFSET(keys_kind, struct _dictkeysobject, dk_kind);
    OFFSET(keys_nentries, struct _dictkeysobject, dk_nentries);
    OFFSET(keys_indices, struct _dictkeysobject, dk_indices);
    OFFSET(values_data, struct _dictvalues, values);
#if PY_VERSION_HEX >= 0x030d0000 || PY_VERSION_HEX < 0x030c0000
    PUT(managed_dict, MANAGED_DICT_OFFSET);
#else
    PUT(managed_dict, -3 * (long)sizeof(void *)); /* _PyObject_DictOrValuesPointer */
#endif
    OFFSET(module_dict, PyModuleObject, md_dict);
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
    PUT(managed_values, -4 * (long)sizeof(void *)); /* _PyObject_ValuesPointer */
#else
    ABSENT(managed_values);
#endif
    PUT(managed_is_tagged, PY_VERSION_HEX >= 0x030c0000 && PY_VERSION_HEX < 0x030d0000);
}

int main(void)
{
#ifdef Py_DEBUG
    int is_debug = 1;
#else
    int is_debug = 0;
#endif
#ifdef Py_GIL_DISABLED
    int is_free_threaded = 1;
#else
    int is_free_threaded = 0;
#endif
    printf("{\n    .version = 0x%04x, /* measured in %s */\n", PY_VERSION_HEX >> 16, PY_VERSION);
    printf("    .is_debug = %s,\n", is_debug ? "true" : "false");
    printf("    .is_free_threaded = %s,\n", is_free_threaded ? "true" : "false");
    put_runtime();
    put_interpreter();
    put_thread();
    put_frame();
    put_instructions();
    put_code();
    put_objects();
    put_dict();
    printf("},\n");
    return 0;
}
