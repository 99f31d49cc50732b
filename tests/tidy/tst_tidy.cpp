// SPDX-License-Identifier: Apache-2.0
// The rules of the house as a test: each finding says where, what, why and what to do instead.
#include "tidy/source_tree.h"

#include <QtTest>

#include <filesystem>
#include <regex>

using namespace millrace::tidy;

class TidyTest : public QObject {
    Q_OBJECT

  private slots:
    void initTestCase() {
        files_ = readTree(MILLRACE_SOURCE_DIR);
        modules_ = readModules(MILLRACE_MODULES);
        QVERIFY2(files_.size() > 50, "the tree was not found");
        QVERIFY2(modules_.size() > 5, "modules.txt was not found");
    }

    void includesPointUpwardInTheFolderList() {
        static const std::regex kInclude("^#include \"([^\"]+)\"");
        eachCodeLine([this](const SourceFile& file, const std::string& line, const auto& add) {
            std::smatch match;
            const Module* from = moduleOf(modules_, file.path);
            if (!from || !std::regex_search(line, match, kInclude)) {
                return;
            }
            const Module* to = includedModule(match[1].str());
            if (to && from->reachable.count(to->name) == 0) {
                add(from->name + " includes " + to->name + ", against the layer order: move the shared part up or turn the call around");
            }
        });
    }

    void outsideLibrariesStayInTheirFolder() {
        struct Home {
            const char* header;
            std::vector<std::string> folders;
        };
        static const std::vector<Home> kHomes{
            {"<spdlog/", {"core/base/"}},     {"<sqlite3.h", {"core/catalog/", "bench/"}},
            {"<CLI/", {"cli/"}},              {"<openssl/", {"core/net/", "core/catalog/"}},
            {"<zstd.h", {"core/log/", "core/wire/"}}, {"<QtWidgets", {"gui/", "tests/gui/"}},
            {"<QWidget", {"gui/", "tests/gui/"}},  {"<QtTest", {"tests/"}},
        };
        eachCodeLine([](const SourceFile& file, const std::string& line, const auto& add) {
            for (const Home& home : kHomes) {
                if (line.rfind("#include " + std::string(home.header), 0) != 0) {
                    continue;
                }
                const bool home_ = std::any_of(home.folders.begin(), home.folders.end(),
                                               [&](const auto& folder) { return file.path.rfind(folder, 0) == 0; });
                if (!home_) {
                    add(std::string(home.header) + " belongs to " + home.folders[0] + ": use that folder's own header");
                }
            }
        });
    }

    void noFileIsLongerThan400Lines() {
        Findings findings;
        for (const SourceFile& file : files_) {
            if ((file.isCode() || file.extension() == ".py") && file.lines.size() > 400) {
                findings.push_back(file.path + ":400: " + std::to_string(file.lines.size()) + " lines: split it by what it does");
            }
        }
        expectNone(findings);
    }

    void noTabsAndNoTrailingSpace() {
        eachCodeLine([](const SourceFile&, const std::string& line, const auto& add) {
            if (line.find('\t') != std::string::npos) {
                add("tab: indent with four spaces");
            }
            if (!line.empty() && (line.back() == ' ' || line.back() == '\r')) {
                add("trailing space: run clang-format");
            }
        });
    }

    void unfinishedPlacesNameAnIssue() {
        static const std::regex kUnfinished("\\b(TODO|FIXME|XXX)\\b(?! #[0-9]+)");
        eachCodeLine([](const SourceFile& file, const std::string& line, const auto& add) {
            if (file.path.rfind("tests/tidy/", 0) != 0 && std::regex_search(line, kUnfinished)) {
                add("unfinished without an issue number: finish it, or write `TODO #12`");
            }
        });
    }

    void testsDoNotSleep() {
        static const std::regex kSleep("\\b(qWait|qSleep|usleep|sleep_for|sleep_until|sleep)\\(");
        eachCodeLine([](const SourceFile& file, const std::string& line, const auto& add) {
            if (file.path.rfind("tests/", 0) == 0 && file.path.rfind("tests/tidy/", 0) != 0 && std::regex_search(line, kSleep)) {
                add("sleep as synchronisation: wait for a condition with a deadline, or move the clock");
            }
        });
    }

    void filesAndTypesHaveNamesOfTheField() {
        static const std::regex kBanned("(^|[_/])(utils?|helpers?|manager|common|misc)(_|\\.|/|$)");
        Findings findings;
        for (const SourceFile& file : files_) {
            if (std::regex_search(file.path, kBanned)) {
                findings.push_back(file.path + ":1: a name that says nothing: name the one thing it holds");
            }
        }
        eachCodeLine([](const SourceFile& file, const std::string& line, const auto& add) {
            static const std::regex kType("^(class|struct) \\w*(Manager|Helper|Util|Utils)\\b");
            if (file.path.rfind("tests/tidy/", 0) != 0 && std::regex_search(line, kType)) {
                add("a type named Manager, Helper or Util: name its one job");
            }
        });
        expectNone(findings);
    }

    void everyHeaderStatesItsPurposeFirst() {
        Findings findings;
        for (const SourceFile& file : files_) {
            if (!file.isCode()) {
                continue;
            }
            const bool licensed = !file.lines.empty() && file.lines[0].rfind("// SPDX-License-Identifier: Apache-2.0", 0) == 0;
            if (!licensed) {
                findings.push_back(file.path + ":1: the first line is `// SPDX-License-Identifier: Apache-2.0`");
            }
            const bool purpose = file.lines.size() > 1 && file.lines[1].rfind("// ", 0) == 0;
            if (file.extension() == ".h" && !purpose) {
                findings.push_back(file.path + ":2: a header begins with one sentence of purpose and its promise");
            }
        }
        expectNone(findings);
    }

    void everyModuleStandsInTheArchitecturePage() {
        std::string page;
        for (const SourceFile& file : files_) {
            if (file.path == "docs/ARCHITECTURE.md") {
                for (const std::string& line : file.lines) {
                    page += line + "\n";
                }
            }
        }
        Findings findings;
        for (const Module& module : modules_) {
            if (page.find("`" + module.folder + "`") == std::string::npos) {
                findings.push_back("docs/ARCHITECTURE.md:1: folder `" + module.folder + "` is missing: say its one job in the table");
            }
        }
        expectNone(findings);
    }

    void functionsAreShortEnoughToRead() {
        Findings findings;
        for (const SourceFile& file : files_) {
            if (file.extension() == ".cpp") {
                longFunctions(file, findings);
            }
        }
        expectNone(findings);
    }

    void theRulesFindWhatTheyForbid() {
        SourceFile longOne{"core/x/x.cpp", {}};
        longOne.lines.push_back("void f() {");
        longOne.lines.insert(longOne.lines.end(), 80, "    work();");
        longOne.lines.push_back("}");
        Findings findings;
        longFunctions(longOne, findings);
        QCOMPARE(findings.size(), std::size_t{1});
        QVERIFY(includedModule("base/bytes.h") != nullptr);
        QCOMPARE(includedModule("base/bytes.h")->name, std::string("base"));
    }

  private:
    // A function body opens with a line that ends in '{' at column 0 and closes with '}' at column 0 (clang-format sees to that).
    static void longFunctions(const SourceFile& file, Findings& findings) {
        static const std::regex kOpens("^[A-Za-z].*\\).*\\{$");
        std::size_t opened = 0;
        for (std::size_t i = 0; i < file.lines.size(); ++i) {
            if (std::regex_search(file.lines[i], kOpens)) {
                opened = i + 1;
            } else if (file.lines[i] == "}" && opened != 0) {
                if (i + 1 - opened > 75) {
                    findings.push_back(file.path + ":" + std::to_string(opened) + ": a function of " + std::to_string(i + 1 - opened) +
                                       " lines: ifs in the parent, straight work in children of their own");
                }
                opened = 0;
            }
        }
    }

    const Module* includedModule(const std::string& include) const {
        const Module* core = moduleOf(modules_, "core/" + include);
        return core ? core : moduleOf(modules_, include);
    }

    template <typename Rule> void eachCodeLine(const Rule& rule) {
        Findings findings;
        for (const SourceFile& file : files_) {
            for (std::size_t i = 0; file.isCode() && i < file.lines.size(); ++i) {
                rule(file, file.lines[i], [&](const std::string& what) {
                    findings.push_back(file.path + ":" + std::to_string(i + 1) + ": " + what);
                });
            }
        }
        expectNone(findings);
    }

    static void expectNone(const Findings& findings) {
        if (!findings.empty()) {
            QFAIL(report(findings).c_str());
        }
    }

    std::vector<SourceFile> files_;
    std::vector<Module> modules_;
};

QTEST_APPLESS_MAIN(TidyTest)
#include "tst_tidy.moc"
