// SPDX-License-Identifier: Apache-2.0
// The program as a person or a script runs it: arguments, environment and standard input in, exit
// code and both outputs out. It ends within the time or is killed (code -1).
#pragma once

#include <QProcess>
#include <QStringList>

namespace millrace::server_tests {

struct Outcome {
    int code = -1;
    QString out, error;
};

struct Run {
    QStringList arguments;
    QStringList environment = {}; // NAME=value, on top of the test's own
    QByteArray input = {};
};

inline Outcome outcomeOf(const Run& run) {
    constexpr int kLongestMs = 20'000;
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const QString& variable : run.environment) {
        environment.insert(variable.section('=', 0, 0), variable.section('=', 1));
    }
    process.setProcessEnvironment(environment);
    process.start(MILLRACE_PROGRAM, run.arguments);
    process.write(run.input);
    process.closeWriteChannel();
    Outcome outcome;
    if (process.waitForFinished(kLongestMs) && process.exitStatus() == QProcess::NormalExit) {
        outcome.code = process.exitCode();
    } else {
        process.kill();
        process.waitForFinished();
    }
    outcome.out = QString::fromUtf8(process.readAllStandardOutput());
    outcome.error = QString::fromUtf8(process.readAllStandardError());
    return outcome;
}

} // namespace millrace::server_tests
