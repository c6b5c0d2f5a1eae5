// SPDX-License-Identifier: Apache-2.0
#include "preparation.hpp"

namespace {

thread_local const nb::object *telling = nullptr; // of the preparation that calls this thread

void tell(void *user, size_t done, size_t total, const kiln_prepare_result *result) {
    if (!Py_IsInitialized()) return;
    nb::gil_scoped_acquire lock;
    const nb::object *callback = static_cast<const nb::object *>(user);
    telling = callback;
    try {
        (*callback)(done, total, result->index, static_cast<int>(result->status), kiln_status_name(result->status),
                    nb::str(result->error));
    } catch (nb::python_error &error) {
        error.discard_as_unraisable("the progress of kiln.prepare");
    }
    telling = nullptr;
}

// One problem's tensors and scalars, for as long as the library reads them.
struct Described {
    std::vector<kiln_tensor> tensors;
    std::vector<kiln_scalar> scalars;
};

} // namespace

Preparation::Preparation(nb::object context, nb::list problems, int device, int jobs, nb::object callback)
    : context_(std::move(context)) {
    Context &own = nb::cast<Context &>(context_);
    std::vector<Described> described(problems.size());
    std::vector<kiln_problem> asked(problems.size(), kiln_problem KILN_PROBLEM_INIT);
    bool on_device = false;
    for (size_t i = 0; i < problems.size(); i++) {
        const nb::tuple fields = nb::borrow<nb::tuple>(problems[i]);
        Described &one = described[i];
        asked[i].program =
            nb::cast<Program &>(fields[0]).describe_problem(fields[1], fields[2], fields[3], one.tensors, one.scalars);
        asked[i].tensors = one.tensors.data();
        asked[i].tensor_count = one.tensors.size();
        asked[i].scalars = one.scalars.data();
        asked[i].scalar_count = one.scalars.size();
        asked[i].arch = nb::cast<int>(fields[4]);
        on_device |= asked[i].arch == 0;
    }
    std::optional<CurrentDevice> current;
    if (on_device) current.emplace(own.driver(), device);
    kiln_prepare_options options = KILN_PREPARE_OPTIONS_INIT;
    options.jobs = jobs;
    if (!callback.is_none()) {
        tell_ = new nb::object(std::move(callback));
        options.callback = tell;
        options.user = tell_;
    }
    kiln_status status;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_prepare(own.handle(), asked.data(), asked.size(), &options, &handle_);
    }
    if (status) delete tell_;
    check(status);
}

// Whoever is called by the preparation cannot wait for it: then it is left to the context.
Preparation::~Preparation() {
    const bool called_back = telling && telling == tell_;
    {
        nb::gil_scoped_release unlocked;
        if (called_back)
            kiln_prepare_cancel(handle_);
        else
            kiln_prepare_destroy(handle_);
    }
    if (!called_back) delete tell_;
}

bool Preparation::wait(int64_t timeout_ms) const {
    int finished = 0;
    kiln_status status;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_prepare_wait(handle_, timeout_ms, &finished);
    }
    check(status);
    return finished != 0;
}

void Preparation::cancel() const {
    nb::gil_scoped_release unlocked;
    kiln_prepare_cancel(handle_);
}

nb::tuple Preparation::progress() const {
    size_t done = 0, total = 0;
    kiln_status status;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_prepare_get_progress(handle_, &done, &total);
    }
    check(status);
    return nb::make_tuple(done, total);
}

nb::tuple Preparation::result(size_t index) const {
    kiln_prepare_result result = KILN_PREPARE_RESULT_INIT;
    kiln_status status;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_prepare_get_result(handle_, index, &result);
    }
    check(status);
    return nb::make_tuple(result.done != 0, static_cast<int>(result.status), kiln_status_name(result.status),
                          nb::str(result.error));
}
