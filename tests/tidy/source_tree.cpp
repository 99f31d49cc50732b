// SPDX-License-Identifier: Apache-2.0
#include "tidy/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace millrace::tidy {

namespace fs = std::filesystem;

std::string SourceFile::extension() const { return fs::path(path).extension().string(); }

bool SourceFile::isCode() const { return extension() == ".h" || extension() == ".cpp"; }

std::vector<SourceFile> readTree(const std::string& root) {
    static const std::set<std::string> kText{".h", ".cpp", ".md", ".txt", ".cmake", ".py", ".sh"};
    static const std::set<std::string> kSkipped{".git", "build", ".cache", "corpus"};
    std::vector<SourceFile> files;
    auto walk = fs::recursive_directory_iterator(root);
    for (auto entry = fs::begin(walk); entry != fs::end(walk); ++entry) {
        if (entry->is_directory() && kSkipped.count(entry->path().filename().string()) != 0) {
            entry.disable_recursion_pending();
            continue;
        }
        if (!entry->is_regular_file() || kText.count(entry->path().extension().string()) == 0) {
            continue;
        }
        SourceFile file;
        file.path = fs::relative(entry->path(), root).string();
        std::ifstream in(entry->path());
        for (std::string line; std::getline(in, line);) {
            file.lines.push_back(line);
        }
        files.push_back(std::move(file));
    }
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return files;
}

std::vector<Module> readModules(const std::string& modulesFile) {
    std::vector<Module> modules;
    std::ifstream in(modulesFile);
    for (std::string line; std::getline(in, line);) {
        std::istringstream parts(line);
        Module module;
        std::string depends;
        std::getline(parts, module.name, '|');
        std::getline(parts, module.folder, '|');
        std::getline(parts, depends);
        module.reachable.insert(module.name);
        std::istringstream names(depends);
        for (std::string name; std::getline(names, name, ',');) {
            for (const Module& other : modules) {
                if (other.name == name) {
                    module.reachable.insert(other.reachable.begin(), other.reachable.end());
                }
            }
        }
        modules.push_back(std::move(module));
    }
    return modules;
}

const Module* moduleOf(const std::vector<Module>& modules, const std::string& path) {
    for (const Module& module : modules) {
        if (path.rfind(module.folder + "/", 0) == 0) {
            return &module;
        }
    }
    return nullptr;
}

std::string report(const Findings& findings) {
    std::string text = std::to_string(findings.size()) + " finding(s)";
    for (const std::string& finding : findings) {
        text += "\n  " + finding;
    }
    return text;
}

} // namespace millrace::tidy
