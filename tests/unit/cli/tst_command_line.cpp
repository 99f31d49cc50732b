// SPDX-License-Identifier: Apache-2.0
// What the command line makes of its arguments, and what it says to those that are wrong.
#include "cli/command_line.h"
#include "cli/exit_code.h"

#include <QTest>

#include <iostream>
#include <sstream>

using namespace millrace;
using namespace millrace::cli;

namespace {

struct Outcome {
    int code = 0;
    QString out, error;
    std::vector<ServeRequest> served;
};

Outcome runWith(std::vector<const char*> arguments) {
    Outcome outcome;
    arguments.insert(arguments.begin(), "millrace");
    std::ostringstream out;
    std::ostringstream error;
    std::streambuf* const outBefore = std::cout.rdbuf(out.rdbuf());
    std::streambuf* const errorBefore = std::cerr.rdbuf(error.rdbuf());
    Program program;
    program.version = "9.8.7";
    program.defaultDataDirectory = "/default";
    program.serve = [&](const ServeRequest& request) {
        outcome.served.push_back(request);
        return 0;
    };
    program.running = [](const std::string& directory) -> base::Result<RunningServer> {
        return base::Error{base::ErrorCode::notFound, "nobody in " + directory};
    };
    outcome.code = run(static_cast<int>(arguments.size()), arguments.data(), program);
    std::cout.rdbuf(outBefore);
    std::cerr.rdbuf(errorBefore);
    outcome.out = QString::fromStdString(out.str());
    outcome.error = QString::fromStdString(error.str());
    return outcome;
}

} // namespace

class TestCommandLine : public QObject {
    Q_OBJECT
  private slots:
    void withoutArgumentsItSaysHowToStart() {
        const Outcome outcome = runWith({});
        QCOMPARE(outcome.code, 0);
        QVERIFY(outcome.out.contains("millrace serve"));
        QVERIFY(outcome.served.empty());
    }

    void helpTeachesWithExamples_data() {
        QTest::addColumn<QString>("verb");
        for (const char* verb : {"serve", "status", "publish", "consume"}) {
            QTest::newRow(verb) << verb;
        }
    }
    void helpTeachesWithExamples() {
        QFETCH(QString, verb);
        const std::string name = verb.toStdString();
        const Outcome outcome = runWith({name.c_str(), "--help"});
        QCOMPARE(outcome.code, 0);
        QVERIFY(outcome.out.contains("Examples:"));
        QVERIFY(outcome.out.contains("millrace " + verb));
    }

    void theVersionIsSaid() {
        QVERIFY(runWith({"version"}).out.contains("9.8.7"));
        QVERIFY(runWith({"--version"}).out.contains("9.8.7"));
    }

    void serveGetsItsFlags() {
        const Outcome outcome =
            runWith({"serve", "-c", "f.conf", "--data", "d", "--listen", "127.0.0.1:1", "--listen",
                     "[::1]:2", "--set", "heartbeat=5", "--set", "default_pass=a=b"});
        QCOMPARE(outcome.code, 0);
        QCOMPARE(outcome.served.size(), std::size_t{1});
        const ServeRequest& request = outcome.served[0];
        QCOMPARE(request.configFile, std::string("f.conf"));
        QCOMPARE(request.dataDirectory, std::string("d"));
        QCOMPARE(request.listeners, (std::vector<std::string>{"127.0.0.1:1", "[::1]:2"}));
        QVERIFY(request.settings == (NamedValues{{"heartbeat", "5"}, {"default_pass", "a=b"}}));
    }

    void mistakesEndWithUsageAndTheNearestName_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("said");
        QTest::newRow("verb") << QStringList{"sevre"} << "did you mean 'serve'";
        QTest::newRow("verb again") << QStringList{"pubish", "-q", "x"} << "did you mean 'publish'";
        QTest::newRow("flag") << QStringList{"serve", "--dta", "x"} << "did you mean '--data'";
        QTest::newRow("flag with value")
            << QStringList{"serve", "--lsten=1"} << "did you mean '--listen'";
        QTest::newRow("value missing") << QStringList{"serve", "--data"} << "--data";
        QTest::newRow("no equals") << QStringList{"serve", "--set", "heartbeat"} << "KEY=VALUE";
        QTest::newRow("no queue") << QStringList{"consume"} << "millrace consume --help";
    }
    void mistakesEndWithUsageAndTheNearestName() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, said);
        std::vector<std::string> texts;
        for (const QString& argument : arguments) {
            texts.push_back(argument.toStdString());
        }
        std::vector<const char*> pointers;
        for (const std::string& text : texts) {
            pointers.push_back(text.c_str());
        }
        const Outcome outcome = runWith(pointers);
        QCOMPARE(outcome.code, static_cast<int>(ExitCode::usage));
        QVERIFY2(outcome.error.contains(said), qPrintable(outcome.error));
        QVERIFY(outcome.out.isEmpty());
    }

    void statusOfNobodyIsUnreachable() {
        const Outcome outcome = runWith({"status", "--data", "/nowhere"});
        QCOMPARE(outcome.code, static_cast<int>(ExitCode::unreachable));
        QVERIFY(outcome.error.contains("nobody in /nowhere"));
        QVERIFY(runWith({"status"}).error.contains("/default"));
    }

    void aBrokerThatIsNotThereIsUnreachable() {
        const Outcome outcome =
            runWith({"publish", "--uri", "amqp://127.0.0.1:1", "-q", "x", "hello"});
        QCOMPARE(outcome.code, static_cast<int>(ExitCode::unreachable));
    }

    void aPasswordInAnArgumentIsWarnedOf() {
        const Outcome outcome =
            runWith({"publish", "--uri", "amqp://u:secret@127.0.0.1:1", "-q", "x", "hello"});
        QVERIFY(outcome.error.contains("--password-file"));
        QVERIFY(!outcome.error.contains("secret"));
    }
};

QTEST_APPLESS_MAIN(TestCommandLine)
#include "tst_command_line.moc"
