// SPDX-License-Identifier: Apache-2.0
// The cgroup's limit counts where there is one, on whatever level it stands.
#include "server/memory_limit.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace millrace::server;

namespace {

constexpr qulonglong kHost = 8000000ULL * 1024;

void put(const QTemporaryDir& root, const QString& path, const QByteArray& content) {
    const QString whole = root.filePath(path);
    QDir().mkpath(QFileInfo(whole).path());
    QFile file(whole);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(content);
}

} // namespace

class TestMemoryLimit : public QObject {
    Q_OBJECT
  private slots:
    void theLeastLimitOnTheWayCounts_data() {
        QTest::addColumn<QByteArray>("groups");
        QTest::addColumn<QString>("file");
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<qulonglong>("limit");
        QTest::newRow("none") << QByteArray("0::/\n") << "" << QByteArray() << kHost;
        QTest::newRow("v2 own") << QByteArray("0::/a/b\n") << "sys/fs/cgroup/a/b/memory.max"
                                << QByteArray("1000000\n") << 1000000ULL;
        QTest::newRow("v2 parent") << QByteArray("0::/a/b\n") << "sys/fs/cgroup/a/memory.max"
                                   << QByteArray("2000000\n") << 2000000ULL;
        QTest::newRow("v2 container root") << QByteArray("0::/\n") << "sys/fs/cgroup/memory.max"
                                           << QByteArray("3000000\n") << 3000000ULL;
        QTest::newRow("v2 max") << QByteArray("0::/a\n") << "sys/fs/cgroup/a/memory.max"
                                << QByteArray("max\n") << kHost;
        QTest::newRow("v1") << QByteArray("9:cpu:/x\n4:memory:/docker/c\n0::/\n")
                            << "sys/fs/cgroup/memory/docker/c/memory.limit_in_bytes"
                            << QByteArray("4000000\n") << 4000000ULL;
        QTest::newRow("v1 mounted at root")
            << QByteArray("4:memory:/docker/c\n") << "sys/fs/cgroup/memory/memory.limit_in_bytes"
            << QByteArray("5000000\n") << 5000000ULL;
        QTest::newRow("v1 unlimited")
            << QByteArray("4:memory:/\n") << "sys/fs/cgroup/memory/memory.limit_in_bytes"
            << QByteArray("9223372036854771712\n") << kHost;
    }
    void theLeastLimitOnTheWayCounts() {
        QFETCH(QByteArray, groups);
        QFETCH(QString, file);
        QFETCH(QByteArray, content);
        QFETCH(qulonglong, limit);
        const QTemporaryDir root;
        put(root, "proc/meminfo", "MemFree: 5 kB\nMemTotal:        8000000 kB\n");
        put(root, "proc/self/cgroup", groups);
        if (!file.isEmpty()) {
            put(root, file, content);
        }
        QCOMPARE(qulonglong{availableMemory(root.path().toStdString() + "/")}, limit);
    }

    void thisProcessIsResident() {
        QVERIFY(residentMemory() > 1'000'000);
        QVERIFY(residentMemory() < availableMemory());
    }
};

QTEST_APPLESS_MAIN(TestMemoryLimit)
#include "tst_memory_limit.moc"
