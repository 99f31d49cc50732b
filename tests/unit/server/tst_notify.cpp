// SPDX-License-Identifier: Apache-2.0
// The service manager hears where it listens, by path and by abstract name.
#include "net/socket.h"
#include "server/notify.h"

#include <QTemporaryDir>
#include <QTest>

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <unistd.h>

using namespace millrace;

class TestNotify : public QObject {
    Q_OBJECT
  private slots:
    void aDatagramReachesTheSocket_data() {
        QTest::addColumn<bool>("abstract");
        QTest::newRow("path") << false;
        QTest::newRow("abstract") << true;
    }
    void aDatagramReachesTheSocket() {
        QFETCH(bool, abstract);
        const QTemporaryDir folder;
        QByteArray name = abstract
                              ? QByteArray("@millrace-notify-") + QByteArray::number(::getpid())
                              : folder.filePath("notify").toLocal8Bit();
        qputenv("NOTIFY_SOCKET", name);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::copy(name.begin(), name.end(), address.sun_path);
        if (abstract) {
            address.sun_path[0] = '\0';
        }
        const net::Socket manager(::socket(AF_UNIX, SOCK_DGRAM, 0));
        QCOMPARE(::bind(manager.descriptor(), reinterpret_cast<const sockaddr*>(&address),
                        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                               static_cast<std::size_t>(name.size()))),
                 0);
        QVERIFY(server::notifyServiceManager("READY=1"));
        char heard[64] = "";
        QCOMPARE(::recv(manager.descriptor(), heard, sizeof heard, 0), ssize_t{7});
        QCOMPARE(heard, "READY=1");
    }

    void withoutASocketNothingIsSaid() {
        qunsetenv("NOTIFY_SOCKET");
        QVERIFY(!server::notifyServiceManager("READY=1"));
        qputenv("NOTIFY_SOCKET", "relative/path");
        QVERIFY(!server::notifyServiceManager("READY=1"));
        qputenv("NOTIFY_SOCKET", "/nonexistent/socket");
        QVERIFY(!server::notifyServiceManager("READY=1"));
    }
};

QTEST_APPLESS_MAIN(TestNotify)
#include "tst_notify.moc"
