// SPDX-License-Identifier: Apache-2.0
// The repository's text files and the declared module graph, read once, for the rules of the house.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace millrace::tidy {

struct SourceFile {
    std::string path; // relative to the root
    std::vector<std::string> lines;
    std::string extension() const;
    bool isCode() const; // .h or .cpp
};

struct Module {
    std::string name, folder;
    std::set<std::string> reachable; // modules that it may include, itself among them
};

std::vector<SourceFile> readTree(const std::string& root);
std::vector<Module> readModules(const std::string& modulesFile);
// The module whose folder holds the path; null for tests and tools.
const Module* moduleOf(const std::vector<Module>& modules, const std::string& path);

// "path:line: what, why, instead"
using Findings = std::vector<std::string>;
std::string report(const Findings& findings);

} // namespace millrace::tidy
