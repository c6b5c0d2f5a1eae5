/* SPDX-License-Identifier: Apache-2.0 */
/* How calls of Kiln end, and what they say where they fail. A part of <kiln/kiln.h>, whose conventions hold here. */
#ifndef KILN_STATUS_H
#define KILN_STATUS_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define KILN_API
#elif defined(KILN_BUILDING)
#define KILN_API __attribute__((visibility("default")))
#else
#define KILN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a call. The numbers are part of the ABI and never change their meaning. */
typedef enum kiln_status {
    KILN_OK = 0,
    KILN_E_ARGUMENT = 1,     /* an argument of the call itself is wrong: NULL, a bad enum value, a bad struct_size */
    KILN_E_SYNTAX = 2,       /* the program text does not parse */
    KILN_E_NAME = 3,         /* a name is unknown, assigned twice, reserved, or declared and not used */
    KILN_E_LIMIT = 4,        /* the program text exceeds a limit on length, depth or size, or its kernel is too large to
                                compile (docs/limits.md) */
    KILN_E_TYPE = 5,         /* types do not match, or an operator does not take this type */
    KILN_E_SHAPE = 6,        /* shapes do not broadcast, or an output has the wrong shape */
    KILN_E_AXIS = 7,         /* an axis is out of range, repeated, or cannot be reduced over */
    KILN_E_BINDING = 8,      /* too few or too many tensors or scalars */
    KILN_E_POINTER = 9,      /* a data pointer is NULL or not aligned to its element */
    KILN_E_OVERLAP = 10,     /* an output overlaps another tensor without being the same tensor */
    KILN_E_SIZE = 11,        /* a size is negative or a product of sizes does not fit 64 bits */
    KILN_E_UNSUPPORTED = 12, /* valid, but outside the documented limits; the message names the limit */
    KILN_E_MEMORY = 13,      /* host memory ran out */
    KILN_E_DEVICE_MEMORY = 14, /* device memory ran out */
    KILN_E_NO_DRIVER = 15,     /* the CUDA driver library cannot be opened */
    KILN_E_NO_DEVICE = 16,     /* there is a driver and no usable device */
    KILN_E_NO_CONTEXT = 17,    /* no CUDA context is current on the calling thread */
    KILN_E_NO_NVRTC = 18,      /* a compile is needed and the NVRTC library cannot be opened */
    KILN_E_ARCH = 19,          /* the NVRTC found cannot compile for the architecture */
    KILN_E_COMPILE = 20,       /* NVRTC refused the source (its log goes to the log callback), or crashed in a worker */
    KILN_E_LOAD = 21,          /* the driver refused the compiled kernel */
    KILN_E_LAUNCH = 22,        /* the driver refused or failed a launch */
    KILN_E_CAPTURE = 23,       /* a stream is being captured, and the driver loads no kernel meanwhile */
    KILN_E_WOULD_COMPILE = 24, /* the policy forbids compiling and the kernel is in no cache */
    KILN_E_IO = 25,            /* a file cannot be read or written */
    KILN_E_FORMAT = 26,        /* a file's content is not what its kind requires */
    KILN_E_INTERNAL = 27,      /* a fault of Kiln itself; please report it with the message */
    KILN_E_TIMEOUT = 28,       /* a compile took longer than the context's compile_limit_ms, now or before */
    KILN_E_CANCELLED = 29      /* kiln_context_cancel_compiles was called meanwhile */
} kiln_status;

/* The constant's name, "KILN_E_SHAPE"; "KILN_E_UNKNOWN" for other values. Static string. Thread-safe. */
KILN_API const char *kiln_status_name(kiln_status status);

/* The message of the calling thread's last call, "" if that call succeeded. Control characters in it, from a program
 * or a path, are written as \xNN. Valid until the thread's next call into the library.
 * Thread-safe: each thread has its own. */
KILN_API const char *kiln_last_error(void);

/* The same as data, for an editor that marks the place or a program that looks for a name. */
typedef struct kiln_error_info {
    size_t struct_size; /* sizeof(kiln_error_info), as KILN_ERROR_INFO_INIT sets it */
    kiln_status status; /* of the thread's last call that keeps a message; KILN_OK where it succeeded */
    int line, column; /* of the program's text, from 1; columns count bytes. 0: no place in it, or one in the prelude */
    int length;       /* bytes from there on that are meant: a name, a number, an operator; 0 at the end of a line */
    const char *text; /* these bytes, or a name that is no part of the text (of a list, of a binding); cut at 63 bytes,
                         between characters. "" where there is nothing to show */
    const char *message; /* as kiln_last_error gives it */
} kiln_error_info;
#define KILN_ERROR_INFO_INIT \
    { sizeof(kiln_error_info), KILN_OK, 0, 0, 0, NULL, NULL }

/* Fills *info; what kiln_last_error gives stays as it is. Strings are valid until the thread's next call into the
 * library. KILN_E_ARGUMENT, which becomes the last error. Thread-safe: each thread has its own. */
KILN_API kiln_status kiln_last_error_info(kiln_error_info *info);

#ifdef __cplusplus
}
#endif
#endif
