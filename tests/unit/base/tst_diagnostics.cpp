// SPDX-License-Identifier: Apache-2.0
// Log lines go to standard error, from the chosen level upward, with the text as it was given.
#include "base/diagnostics.h"

#include <QtTest>

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

using namespace millrace::base;

namespace {

// Runs `write` with standard error turned into a pipe, and returns what arrived there.
template <typename Write> QByteArray standardErrorOf(Write write) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return "no pipe";
    }
    const int kept = ::dup(STDERR_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
    write();
    ::dup2(kept, STDERR_FILENO); // closes the last writing end
    ::close(kept);
    QByteArray text;
    char buffer[4096];
    for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
        text.append(buffer, got);
    }
    ::close(ends[0]);
    return text;
}

} // namespace

class DiagnosticsTest : public QObject {
    Q_OBJECT

  private slots:
    void init() { setDiagnosticsLevel(Severity::info); }

    void aLineBearsItsLevelAndItsTextUnchanged() {
        const QByteArray text =
            standardErrorOf([] { diagnose(Severity::warning, "100 % {} of \"x\""); });
        QVERIFY2(text.contains("[warning] 100 % {} of \"x\"\n"), text.constData());
        QCOMPARE(text.count('\n'), 1);
    }

    void whatIsBelowTheLevelIsNotWritten() {
        const QByteArray text = standardErrorOf([] {
            setDiagnosticsLevel(Severity::error);
            diagnose(Severity::warning, "quiet");
            diagnose(Severity::error, "loud");
        });
        QVERIFY(!text.contains("quiet"));
        QVERIFY(text.contains("loud"));
    }

    void noneSilencesEverything() {
        const QByteArray text = standardErrorOf([] {
            setDiagnosticsLevel(Severity::none);
            diagnose(Severity::error, "nobody hears this");
        });
        QCOMPARE(text, QByteArray());
        QVERIFY(!diagnosticsEnabled(Severity::error));
    }

    void enabledSaysWhatWouldBeWritten() {
        QVERIFY(!diagnosticsEnabled(Severity::debug));
        QVERIFY(diagnosticsEnabled(Severity::info));
        setDiagnosticsLevel(Severity::debug);
        QVERIFY(diagnosticsEnabled(Severity::debug));
        QVERIFY(!diagnosticsEnabled(Severity::none));
    }
};

QTEST_APPLESS_MAIN(DiagnosticsTest)
#include "tst_diagnostics.moc"
