// SPDX-License-Identifier: Apache-2.0
// CRC32C against the published check values, and both implementations against each other.
#include "base/crc32c.h"

#include "support/seed.h"

#include <QtTest>

using namespace millrace;
using base::bytesOf;

class Crc32cTest : public QObject {
    Q_OBJECT

  private slots:
    void agreesWithTheValuesOfRfc3720_data() {
        QTest::addColumn<QByteArray>("input");
        QTest::addColumn<quint32>("sum");
        QByteArray rising;
        for (int i = 0; i < 32; ++i) {
            rising.append(static_cast<char>(i));
        }
        QTest::newRow("nothing") << QByteArray() << 0U;
        QTest::newRow("digits") << QByteArray("123456789") << 0xE3069283U;
        QTest::newRow("32 zeros") << QByteArray(32, '\0') << 0x8A9136AAU;
        QTest::newRow("32 ones") << QByteArray(32, '\xFF') << 0x62A8AB43U;
        QTest::newRow("0 to 31") << rising << 0x46DD794EU;
    }
    void agreesWithTheValuesOfRfc3720() {
        QFETCH(QByteArray, input);
        QFETCH(quint32, sum);
        const std::string text = input.toStdString();
        QCOMPARE(base::crc32c(bytesOf(text)), sum);
        QCOMPARE(base::crc32cByTables(bytesOf(text)), sum);
    }

    void instructionsAndTablesGiveTheSameSumAtEveryLengthAndAlignment() {
        support::Seed seed(0xC5C);
        support::Random random(seed.value());
        const std::string data = random.bytes(8192);
        for (std::size_t length = 0; length < 5000; length += length < 64 ? 1 : 37) {
            const std::size_t offset = random.below(64);
            const auto part = bytesOf(data).subspan(offset, length);
            QCOMPARE(base::crc32c(part), base::crc32cByTables(part));
        }
    }

    void aSumContinuesOverPieces() {
        support::Seed seed(0xC5D);
        support::Random random(seed.value());
        const std::string data = random.bytes(6000);
        const std::uint32_t whole = base::crc32c(bytesOf(data));
        for (const std::size_t cut : {0, 1, 7, 8, 383, 384, 385, 3071, 3072, 3073, 6000}) {
            const std::uint32_t first = base::crc32c(bytesOf(data).first(cut));
            QCOMPARE(base::crc32c(bytesOf(data).subspan(cut), first), whole);
        }
    }

    void oneFlippedBitChangesTheSum() {
        std::string data(100, 'x');
        const std::uint32_t before = base::crc32c(bytesOf(data));
        for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
            data[bit / 8] = static_cast<char>(data[bit / 8] ^ (1 << (bit % 8)));
            QVERIFY(base::crc32c(bytesOf(data)) != before);
            data[bit / 8] = static_cast<char>(data[bit / 8] ^ (1 << (bit % 8)));
        }
    }
};

QTEST_APPLESS_MAIN(Crc32cTest)
#include "tst_crc32c.moc"
