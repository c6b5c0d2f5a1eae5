# SPDX-License-Identifier: Apache-2.0
"""Kiln for Conan 2. To be submitted to Conan Center, where source() takes a release's archive instead."""
import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir

required_conan_version = ">=2.0"


class KilnConan(ConanFile):
    name = "kiln"
    description = "Row programs to fused CUDA kernels, at run time"
    license = "Apache-2.0"
    topics = ("cuda", "jit", "kernels", "nvrtc")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "tool": [True, False]}
    default_options = {"shared": False, "fPIC": True, "tool": False}

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Kiln runs on Linux")

    def layout(self):
        cmake_layout(self, src_folder="source")

    def requirements(self):
        self.requires("xxhash/[>=0.8.0]", visible=False)  # its header is compiled in
        if self.options.tool:
            self.requires("jansson/[>=2.11]", visible=False)

    def export_sources(self):
        checkout = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "kernel_sources/*", "licenses/*", "src/*",
                        "tools/*"):
            copy(self, pattern, checkout, os.path.join(self.export_sources_folder, "source"))

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["KILN_BUILD_TESTS"] = False
        toolchain.cache_variables["KILN_BUILD_TOOL"] = bool(self.options.tool)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.txt", os.path.join(self.source_folder, "licenses"), os.path.join(self.package_folder, "licenses"))
        for folder in (("lib", "pkgconfig"), ("share",)):  # Conan writes files of its own
            rmdir(self, os.path.join(self.package_folder, *folder))

    def package_info(self):
        self.cpp_info.libs = ["kiln"]
        self.cpp_info.system_libs = ["pthread", "dl", "m"]
        self.cpp_info.set_property("cmake_file_name", "kiln")
        self.cpp_info.set_property("cmake_target_name", "kiln::kiln")
        self.cpp_info.set_property("pkg_config_name", "kiln")
