// SPDX-License-Identifier: Apache-2.0
/* Puts the device language before a kernel and a table of its entry points behind it, and has the system's compiler
 * make a shared object of all. Works in a folder of its own under TMPDIR, which is gone afterwards.
 * KILN_SOFTWARE_GPU_COVERAGE names a folder where line counts of each kernel are kept, as gcov's files, and
 * KILN_SOFTWARE_GPU_SOURCES the folder of the files that kernels are put together from, which counts are then told of.
 * Nothing is checked then. */
#include "compiler.hpp"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include "kiln_sources.h"
}

extern char **environ;

namespace simulated {

namespace {

/* The most shared memory that any device gives a block. */
constexpr int most_shared = 227 << 10;

bool is_name(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

size_t skip_blanks(const std::string &s, size_t at) {
    while (at < s.size() && isspace(static_cast<unsigned char>(s[at]))) at++;
    return at;
}

struct Declared {
    std::string name, cluster, bounds;
};

/* The identifier that the next `stop` follows, not counting attributes with arguments of their own; the arguments of
 * __cluster_dims__ and __launch_bounds__ where they are among them. */
Declared find_declared(const std::string &source, size_t at, char stop) {
    std::string name, cluster, bounds;
    while (at < source.size()) {
        at = skip_blanks(source, at);
        size_t end = at;
        while (end < source.size() && is_name(source[end])) end++;
        if (end > at) name = source.substr(at, end - at);
        at = skip_blanks(source, end > at ? end : at + 1);
        const bool attribute = name.compare(0, 2, "__") == 0;
        if (at < source.size() && source[at] == '(' && attribute) {
            const size_t open = at;
            for (int depth = 0; at < source.size();) {
                depth += source[at] == '(' ? 1 : source[at] == ')' ? -1 : 0;
                at++;
                if (depth == 0) break;
            }
            const std::string arguments = source.substr(open + 1, at - open - 2);
            if (name == "__cluster_dims__") cluster = arguments;
            if (name == "__launch_bounds__") bounds = arguments;
            name.clear();
        } else if (at < source.size() && source[at] == stop) {
            return {name, cluster, bounds};
        }
    }
    return {};
}

/* Whether the words found at `at` are no part of a longer name. */
bool stands_at(const std::string &source, size_t at, const std::string &words) {
    const size_t end = at + words.size();
    return (at == 0 || !is_name(source[at - 1])) && (end == source.size() || !is_name(source[end]));
}

std::vector<Declared> find_declarations(const std::string &source, const std::string &words, char stop) {
    std::vector<Declared> all;
    for (size_t at = source.find(words); at != std::string::npos; at = source.find(words, at)) {
        const bool stands = stands_at(source, at, words);
        at += words.size();
        const Declared declared = stands ? find_declared(source, at, stop) : Declared{};
        if (!declared.name.empty()) all.push_back(declared);
    }
    return all;
}

/* Comments as one blank each: they may hold any words. */
std::string without_comments(const std::string &source) {
    std::string code;
    for (size_t at = 0; at < source.size();) {
        const bool line = source.compare(at, 2, "//") == 0, block = source.compare(at, 2, "/*") == 0;
        size_t end = at + 1;
        if (source[at] == '"') {
            while (end < source.size() && source[end] != '"') end += source[end] == '\\' ? 2 : 1;
            end++;
        }
        if (line) end = source.find('\n', at);
        if (block) end = source.find("*/", at + 2);
        end = end >= source.size() ? source.size() : end + (block ? 2 : 0);
        code += line || block ? " " : source.substr(at, end - at);
        at = end;
    }
    return code;
}

/* Definitions behind the source: dynamic shared memory, and the table that the driver reads. */
std::string epilogue(const std::string &commented) {
    const std::string source = without_comments(commented);
    std::string text, rows, dynamic = "";
    for (const Declared &shared : find_declarations(source, "extern __shared__", '[')) {
        dynamic = shared.name;
        text += "thread_local __attribute__((aligned(128))) unsigned char " + dynamic + "[" +
                std::to_string(most_shared) + "];\n";
    }
    for (const Declared &kernel : find_declarations(source, "__global__", '(')) {
        text += "KILN_SOFTWARE_ENTRY(" + kernel.name + ")\n";
        rows += " {KILN_SOFTWARE_ROW(" + kernel.name + "), kiln_software_cluster<" + kernel.cluster +
                ">::size, kiln_software_bounds<" + kernel.bounds + ">::threads},";
    }
    return text + "KILN_SOFTWARE_EXPORTS(\"" + dynamic + "\"," + rows + ")\n";
}

bool write_file(const std::string &path, const std::string &text) {
    FILE *file = fopen(path.c_str(), "we");
    if (!file) return false;
    const bool good = fwrite(text.data(), 1, text.size(), file) == text.size();
    return fclose(file) == 0 && good;
}

template <class Bytes> bool read_file(const std::string &path, Bytes &out) {
    FILE *file = fopen(path.c_str(), "re");
    if (!file) return false;
    char part[65536];
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;) out.insert(out.end(), part, part + n);
    fclose(file);
    return true;
}

/* The exit status; output goes to log_path. */
int run(const std::vector<std::string> &command, const std::string &log_path) {
    std::vector<char *> arguments;
    for (const std::string &word : command) arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child = 0;
    int status = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (status) return 127;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::string environment(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

bool is_clang(const std::string &compiler) { return compiler.find("clang") != std::string::npos; }

/* The source with each file of the folder that it holds word for word marked as lines of that file. */
std::string mark_files(std::string source, const std::string &name, const std::string &folder) {
    DIR *files = folder.empty() ? nullptr : opendir(folder.c_str());
    if (!files) return source;
    while (const dirent *entry = readdir(files)) {
        std::string text;
        const std::string path = folder + "/" + entry->d_name;
        if (path.find(".cuh") == std::string::npos || !read_file(path, text)) continue;
        const size_t at = source.find(text);
        if (at == std::string::npos) continue;
        source.insert(at + text.size(), "#line 1000000 \"" + name + "\"\n");
        source.insert(at, "#line 1 \"" + path + "\"\n");
    }
    closedir(files);
    return source;
}

/* Where it was built there is the first; an installed one may be on another machine. */
const char *default_compiler() {
    return access(KILN_SOFTWARE_GPU_DEFAULT_CXX, X_OK) ? "c++" : KILN_SOFTWARE_GPU_DEFAULT_CXX;
}

std::vector<std::string> compile_command(const std::string &in, const std::string &out, bool coverage) {
    const std::string compiler = environment("KILN_SOFTWARE_GPU_CXX", default_compiler());
    /* Signed overflow and aliasing are as on a GPU, and a * b + c is what it says. */
    std::vector<std::string> command = {compiler,
                                        "-std=c++17",
                                        "-w",
                                        "-shared",
                                        "-fPIC",
                                        "-fvisibility=hidden",
                                        "-fno-exceptions",
                                        "-fno-rtti",
                                        "-fno-asynchronous-unwind-tables",
                                        "-fwrapv",
                                        "-fno-strict-aliasing",
                                        "-ffp-contract=off",
                                        "-nostdlib"};
    /* Counting lines is itself an access that the checks would take for the kernel's. */
    if (coverage)
        command.insert(command.end(), {"-O0", "--coverage"});
    else
        command.insert(command.end(), {"-Og", "-fsanitize=thread"});
    /* clang has no such thing as the first, and its code for the second ends the process. */
    if (!is_clang(compiler)) command.push_back("-fno-extern-tls-init");
    if (!is_clang(compiler) && !coverage) command.push_back("-fsanitize=bounds");
    command.insert(command.end(), {"-o", out, in, "-lm"});
    if (coverage) command.insert(command.end(), {"-lgcov", "-lgcc"});
    command.push_back("-lc");
    return command;
}

} // namespace

Compiled compile_kernel(const std::string &source, const std::string &name, int arch, bool family) {
    Compiled result;
    const std::string coverage = environment("KILN_SOFTWARE_GPU_COVERAGE", "");
    std::string folder = (coverage.empty() ? environment("TMPDIR", "/tmp") : coverage) + "/kiln-software-XXXXXX";
    if (!mkdtemp(&folder[0])) {
        result.log = "error: no folder for a compile in " + folder;
        return result;
    }
    const std::string in = folder + "/kernel.cpp", out = folder + "/kernel.so", log = folder + "/log";
    const std::string marked =
        coverage.empty() ? source : mark_files(source, name, environment("KILN_SOFTWARE_GPU_SOURCES", ""));
    const std::string number = std::to_string(10 * arch) + "\n";
    const std::string text = "#define __CUDA_ARCH__ " + number +
                             (family ? "#define __CUDA_ARCH_FAMILY_SPECIFIC__ " + number : "") +
                             kiln__source_device_interface_hpp + kiln__source_device_language_hpp + "\n#line 1 \"" +
                             name + "\"\n" + marked + "\n" + epilogue(source);
    const int status = write_file(in, text) ? run(compile_command(in, out, !coverage.empty()), log) : 127;
    read_file(log, result.log);
    result.good = status == 0 && read_file(out, result.object);
    if (!result.good && result.log.empty())
        result.log = "error: the compiler ended with status " + std::to_string(status) + "\n";
    if (!coverage.empty()) return result;
    for (const std::string &path : {in, out, log}) unlink(path.c_str());
    rmdir(folder.c_str());
    return result;
}

} // namespace simulated
