// SPDX-License-Identifier: Apache-2.0
// One server per data directory, and everybody can read which.
#include "server/lock_file.h"

#include <QTemporaryDir>
#include <QTest>

#include <filesystem>
#include <unistd.h>

using namespace millrace;
using namespace millrace::server;

class TestLockFile : public QObject {
    Q_OBJECT
  private slots:
    void theSecondIsRefusedAndToldWhoHoldsIt() {
        const QTemporaryDir folder;
        const std::string path = folder.filePath("data/deeper").toStdString();
        auto first = LockFile::acquire(path, "1.2.3");
        QVERIFY(first.ok());
        auto second = LockFile::acquire(path, "1.2.3");
        QVERIFY(!second.ok());
        QCOMPARE(second.error().code, base::ErrorCode::locked);
        const QString text = QString::fromStdString(second.error().text);
        QVERIFY2(text.contains(QString::number(::getpid())), qPrintable(text));
        QVERIFY2(text.contains(QString::fromStdString(path)), qPrintable(text));
    }

    void theDirectoryIsForItsOwnerOnly() {
        const QTemporaryDir folder;
        const std::string path = folder.filePath("data").toStdString();
        QVERIFY(LockFile::acquire(path, "1").ok());
        const auto permissions = std::filesystem::status(path).permissions();
        QVERIFY((permissions &
                 (std::filesystem::perms::group_all | std::filesystem::perms::others_all)) ==
                std::filesystem::perms::none);
    }

    void theHolderIsReadWhileItHolds() {
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString();
        QCOMPARE(LockFile::holder(path).error().code, base::ErrorCode::notFound);
        {
            auto lock = LockFile::acquire(path, "1.2.3");
            QVERIFY(lock.ok());
            QVERIFY(lock->setListeners({"amqp://127.0.0.1:5672", "amqp://[::1]:5672"}).ok());
            auto holder = LockFile::holder(path);
            QVERIFY(holder.ok());
            QCOMPARE(holder->pid, std::int64_t{::getpid()});
            QCOMPARE(holder->version, std::string("1.2.3"));
            QCOMPARE(holder->listeners,
                     (std::vector<std::string>{"amqp://127.0.0.1:5672", "amqp://[::1]:5672"}));
            QVERIFY(lock->setListeners({}).ok());
            QVERIFY(LockFile::holder(path)->listeners.empty());
        }
        // Its content is still there, but nobody holds it.
        QCOMPARE(LockFile::holder(path).error().code, base::ErrorCode::notFound);
        QVERIFY(LockFile::acquire(path, "2").ok());
    }

    void aPlaceThatCannotBeMadeIsNamed() {
        auto lock = LockFile::acquire("/proc/no/such/place", "1");
        QVERIFY(!lock.ok());
        QVERIFY(QString::fromStdString(lock.error().text).contains("/proc/no/such/place"));
    }
};

QTEST_APPLESS_MAIN(TestLockFile)
#include "tst_lock_file.moc"
