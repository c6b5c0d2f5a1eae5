// SPDX-License-Identifier: Apache-2.0
// The module kiln._core: the library's contexts, programs and packs. kiln/*.py is what users see.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "pack_writer.hpp"
#include "preparation.hpp"
#include "xla_calls.hpp"

void fail(kiln_status status, const std::string &sentence, int line, int column) {
    nb::object made = nb::module_::import_("kiln._errors")
                          .attr("error_of")(static_cast<int>(status), kiln_status_name(status), sentence, line, column);
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(made.ptr())), made.ptr());
    nb::raise_python_error();
}

namespace {

using Text = std::optional<std::string>;

void make_context(Context *self, Text cache_dir, Text driver, Text nvrtc, int policy, Text schedule,
                  const std::vector<std::string> &packs, Text record, int64_t cache_max_bytes, int64_t compile_limit_ms,
                  bool host_arrays_on_gpu, nb::object log, int log_detail, nb::object cache_get, nb::object cache_set) {
    ContextSettings settings;
    settings.cache_dir = std::move(cache_dir);
    settings.driver_path = std::move(driver);
    settings.nvrtc_path = std::move(nvrtc);
    settings.schedule = std::move(schedule);
    settings.record_path = std::move(record);
    settings.packs = packs;
    settings.policy = policy;
    settings.cache_max_bytes = cache_max_bytes;
    settings.compile_limit_ms = compile_limit_ms;
    settings.host_arrays_on_gpu = host_arrays_on_gpu;
    settings.log = std::move(log);
    settings.log_detail = log_detail;
    settings.cache = {std::move(cache_get), std::move(cache_set)};
    new (self) Context(settings);
}

void make_program(Program *self, nb::object context, const std::string &text, Text outputs,
                  const std::vector<std::string> &scalars, std::optional<std::vector<int>> axes, bool keep_dims) {
    ProgramText program;
    program.text = text;
    program.outputs = std::move(outputs);
    program.all_axes = !axes;
    if (axes) program.axes = *axes;
    program.keep_dims = keep_dims;
    new (self) Program(std::move(context), program, scalars);
}

} // namespace

NB_MODULE(_core, m) {
    // Programs that are kept in module variables live until the interpreter ends, which is no leak.
    nb::set_leak_warnings(false);

    m.def("version", &kiln_version);
    m.def("add_xla_program", &add_xla_program, nb::arg("program"), nb::arg("key"));
    m.def("xla_handlers", &xla_handlers);

    nb::class_<Context>(m, "Context")
        .def("__init__", &make_context, nb::arg("cache_dir").none(), nb::arg("driver").none(), nb::arg("nvrtc").none(),
             nb::arg("policy"), nb::arg("schedule").none(), nb::arg("packs"), nb::arg("record").none(),
             nb::arg("cache_max_bytes"), nb::arg("compile_limit_ms"), nb::arg("host_arrays_on_gpu"),
             nb::arg("log").none(), nb::arg("log_detail"), nb::arg("cache_get").none(), nb::arg("cache_set").none())
        .def("system_info", &Context::system_info)
        .def("device_info", &Context::device_info)
        .def("stats", &Context::stats)
        .def("clear_cache", &Context::clear_cache)
        .def("cancel_compiles", &Context::cancel_compiles)
        .def("add_function", &Context::add_function, nb::arg("name"), nb::arg("source"), nb::arg("arguments"),
             nb::arg("host").none());

    nb::class_<Program>(m, "Program")
        .def("__init__", &make_program, nb::arg("context"), nb::arg("text"), nb::arg("outputs").none(),
             nb::arg("scalars"), nb::arg("axes").none(), nb::arg("keep_dims"))
        .def("__call__", &Program::call)
        .def("infer", &Program::infer, nb::arg("arguments"), nb::arg("out").none())
        .def("stats", &Program::stats)
        .def("derive", &Program::derive, nb::arg("arguments").none(), nb::arg("wrt").none(), nb::arg("saved").none())
        .def("compile", &Program::compile, nb::arg("arguments"), nb::arg("out").none(), nb::arg("out_types").none(),
             nb::arg("arch"), nb::arg("ptx"), nb::arg("compile"))
        .def_prop_ro("parameters", &Program::parameters)
        .def_prop_ro("output_names", &Program::output_names)
        .def_prop_ro("declared_scalars", &Program::declared_scalars)
        .def_prop_ro("context", &Program::context);

    nb::class_<PackWriter>(m, "PackWriter")
        .def(nb::init<>())
        .def("add", &PackWriter::add, nb::arg("program"), nb::arg("arguments"), nb::arg("out").none(),
             nb::arg("out_types").none(), nb::arg("arch"), nb::arg("ptx"))
        .def("finish", &PackWriter::finish);

    nb::class_<Preparation>(m, "Preparation", nb::is_weak_referenceable())
        .def(nb::init<nb::object, nb::list, int, int, nb::object>(), nb::arg("context"), nb::arg("problems"),
             nb::arg("device"), nb::arg("jobs"), nb::arg("tell").none())
        .def("wait", &Preparation::wait, nb::arg("timeout_ms"))
        .def("cancel", &Preparation::cancel)
        .def("progress", &Preparation::progress)
        .def("result", &Preparation::result, nb::arg("index"));
}
