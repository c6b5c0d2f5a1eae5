// SPDX-License-Identifier: Apache-2.0
// What the C ABI of XLA's typed foreign function interface lays down (version 0.3), as far as it is used here: the
// frame that a handler is called with, and a few of the runtime's functions. Structs have their size first and grow at
// their ends. python/tests/test_xla.py compares this with jaxlib's header.
#ifndef KILN_PYTHON_XLA_HPP
#define KILN_PYTHON_XLA_HPP

#include <cstddef>
#include <cstdint>

namespace xla {

constexpr int major_version = 0, minor_version = 3;

enum ErrorCode { INVALID_ARGUMENT = 3, INTERNAL = 13 };
enum Stage { EXECUTE = 3 };
enum ExtensionType { METADATA = 1 };
enum ValueType { BUFFER = 1 };                // of arguments and results
enum AttributeType { ARRAY = 1, STRING = 4 }; // of attributes
enum DataType {
    PRED = 1,
    S8 = 2,
    S16 = 3,
    S32 = 4,
    S64 = 5,
    U8 = 6,
    U16 = 7,
    U32 = 8,
    U64 = 9,
    F16 = 10,
    F32 = 11,
    F64 = 12,
    BF16 = 16,
    F8E5M2 = 19,
    F8E4M3FN = 20,
    F8E8M0FNU = 33
};

struct Error;   // the runtime's
struct Context; // of one execution

struct Extension {
    size_t struct_size;
    int type;
    Extension *next;
};

struct Version {
    size_t struct_size;
    Extension *extensions;
    int major, minor;
};

struct ErrorCreate {
    size_t struct_size;
    Extension *extensions;
    const char *message;
    int code;
};

struct StreamGet {
    size_t struct_size;
    Extension *extensions;
    Context *context;
    void *stream; // out
};

// The beginning of the runtime's table of functions.
struct Api {
    size_t struct_size;
    Extension *extensions;
    Version version;
    const void *internal;
    Error *(*error_create)(ErrorCreate *);
    void *error_get_message, *error_destroy, *handler_register;
    Error *(*stream_get)(StreamGet *);
};

struct Buffer {
    size_t struct_size;
    Extension *extensions;
    int type;
    void *data;
    int64_t rank;
    int64_t *sizes;
};

struct Array {
    int type;
    size_t size;
    void *data;
};

struct Text {
    const char *data;
    size_t size;
};

// Arguments, or results.
struct Values {
    size_t struct_size;
    Extension *extensions;
    int64_t count;
    int *types;
    void **values;
};

struct Attributes {
    size_t struct_size;
    Extension *extensions;
    int64_t count;
    int *types;
    Text **names;
    void **values;
};

struct CallFrame {
    size_t struct_size;
    Extension *extensions;
    const Api *api;
    Context *context;
    int stage;
    Values arguments, results;
    Attributes attributes;
};

// The beginning of what a handler tells of itself where it is asked.
struct Metadata {
    size_t struct_size;
    Version version;
    uint32_t traits;
};

struct MetadataExtension {
    Extension base;
    Metadata *metadata;
};

} // namespace xla

#endif
