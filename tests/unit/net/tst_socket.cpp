// SPDX-License-Identifier: Apache-2.0
// Addresses as people write them, and who counts as local.
#include "net/socket.h"

#include <QTest>

#include <sys/resource.h>

using namespace millrace;

class TestSocket : public QObject {
    Q_OBJECT
  private slots:
    void addressesRoundTripAndKnowLoopback_data() {
        QTest::addColumn<QString>("host");
        QTest::addColumn<QString>("text");
        QTest::addColumn<bool>("loopback");
        QTest::newRow("v4") << "127.0.0.1"
                            << "127.0.0.1:5672" << true;
        QTest::newRow("v4 net") << "127.8.9.1"
                                << "127.8.9.1:5672" << true;
        QTest::newRow("v4 any") << "0.0.0.0"
                                << "0.0.0.0:5672" << false;
        QTest::newRow("v4 else") << "10.1.2.3"
                                 << "10.1.2.3:5672" << false;
        QTest::newRow("v6") << "::1"
                            << "[::1]:5672" << true;
        QTest::newRow("v6 any") << "::"
                                << "[::]:5672" << false;
        QTest::newRow("mapped") << "::ffff:127.0.0.1"
                                << "[::ffff:127.0.0.1]:5672" << true;
        QTest::newRow("mapped else") << "::ffff:10.0.0.1"
                                     << "[::ffff:10.0.0.1]:5672" << false;
    }
    void addressesRoundTripAndKnowLoopback() {
        QFETCH(QString, host);
        QFETCH(QString, text);
        QFETCH(bool, loopback);
        auto address = net::Address::parse(host.toStdString(), 5672);
        QVERIFY(address.ok());
        QCOMPARE(QString::fromStdString(address->text()), text);
        QCOMPARE(address->isLoopback(), loopback);
        QCOMPARE(address->port(), std::uint16_t{5672});
    }

    void namesAreNotAddresses() {
        auto address = net::Address::parse("localhost", 5672);
        QVERIFY(!address.ok());
        QVERIFY(QString::fromStdString(address.error().text).contains("localhost"));
    }

    void aSecondListenerOnAPortIsRefusedByName() {
        auto first = net::listenOn(*net::Address::parse("127.0.0.1", 0));
        QVERIFY(first.ok());
        const net::Address taken = first->localAddress();
        QVERIFY(taken.port() != 0);
        auto second = net::listenOn(taken);
        QVERIFY(!second.ok());
        QCOMPARE(second.error().code, base::ErrorCode::exists);
        QVERIFY(QString::fromStdString(second.error().text)
                    .contains(QString::fromStdString(taken.text())));
    }

    void theDescriptorLimitIsRaisedToTheHardOne() {
        rlimit limit{};
        QCOMPARE(::getrlimit(RLIMIT_NOFILE, &limit), 0);
        const rlimit lower{64, limit.rlim_max};
        QCOMPARE(::setrlimit(RLIMIT_NOFILE, &lower), 0);
        QCOMPARE(net::raiseDescriptorLimit(), std::uint64_t{limit.rlim_max});
        QCOMPARE(::getrlimit(RLIMIT_NOFILE, &limit), 0);
        QCOMPARE(limit.rlim_cur, limit.rlim_max);
    }
};

QTEST_APPLESS_MAIN(TestSocket)
#include "tst_socket.moc"
