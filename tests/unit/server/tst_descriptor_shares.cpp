// SPDX-License-Identifier: Apache-2.0
#include "server/descriptor_shares.h"

#include <QTest>

using namespace millrace;
using server::descriptorSharesOf;

class DescriptorSharesTest : public QObject {
    Q_OBJECT
  private slots:
    void connectionsAndFilesNeverAskForMoreThanTheLimit() {
        for (const std::uint64_t limit : {256u, 1024u, 4096u, 20'000u, 1'048'576u}) {
            const auto shares = descriptorSharesOf(limit);
            QVERIFY(shares.connections + 2 * shares.openSegments + limits::kFixedDescriptors <=
                    limit);
            QVERIFY(shares.openSegments >= 8);
            QVERIFY(shares.connections >= limit / 2);
        }
    }
    void anEighthStaysForFiles() {
        QCOMPARE(descriptorSharesOf(1024).connections, std::size_t{896});
        QCOMPARE(descriptorSharesOf(1'048'576).openSegments, limits::kOpenSegments);
    }
    void aTinyLimitStillLetsSomebodyIn() {
        QCOMPARE(descriptorSharesOf(64).connections, std::size_t{32});
    }
};

QTEST_APPLESS_MAIN(DescriptorSharesTest)
#include "tst_descriptor_shares.moc"
