"""Conan 2: conan create packaging/conan, in a clone. For programs: requires = "holdfast/<version>"."""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rm, rmdir


class holdfast(ConanFile):
    name = "holdfast"
    license = "Apache-2.0"
    description = "Distributed locks on Redis that are told when they are lost"
    topics = ("redis", "valkey", "lock", "mutex", "distributed")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]

    @property
    def _tree(self):
        return os.path.join(self.recipe_folder, os.pardir, os.pardir)

    def set_version(self):
        header = load(self, os.path.join(self._tree, "include", "holdfast", "version.hpp"))
        self.version = ".".join(re.search(rf"#define HOLDFAST_VERSION_{part} (\d+)", header)[1]
                                for part in ("MAJOR", "MINOR", "PATCH"))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "cmake/*", "components/*", "docs/*", "examples/*", "include/*",
                        "scripts/*", "src/*"):
            copy(self, pattern, self._tree, self.export_sources_folder)

    def requirements(self):
        self.requires("boost/[>=1.81 <2]")
        self.requires("openssl/[>=3 <4]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["Boost_USE_STATIC_LIBS"] = "OFF"  # Conan's targets say which there are
        toolchain.cache_variables["HOLDFAST_SHARED"] = "ON" if self.options.shared else "OFF"
        toolchain.cache_variables["CMAKE_UNITY_BUILD"] = "ON"
        for part in ("CLI", "TESTS", "EXAMPLES", "MODULE", "PROMETHEUS"):
            toolchain.cache_variables[f"HOLDFAST_{part}"] = "OFF"
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "share"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))  # CMakeDeps writes what fits the profile

        if self.options.shared:
            rm(self, "*.a", os.path.join(self.package_folder, "lib"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "holdfast")
        self.cpp_info.set_property("cmake_target_name", "holdfast::holdfast")
        self.cpp_info.set_property("pkg_config_name", "holdfast")
        self.cpp_info.libs = ["holdfast"]
        self.cpp_info.requires = ["boost::url", "openssl::openssl"]
        self.cpp_info.system_libs = ["pthread"]
