// SPDX-License-Identifier: Apache-2.0
#include "log/page_segments.h"

#include "base/crc32c.h"
#include "base/limits.h"
#include "support/faulty_files.h"

#include <QTest>

#include <cstring>

using namespace millrace;
using log::PageSegments;
using support::Call;
using support::FaultyFiles;

class TestPageSegments : public QObject {
    Q_OBJECT

  private slots:
    void aSegmentIsMadeSyncedAndFullOfZerosBeforeUse() {
        FaultyFiles files;
        PageSegments segments(files, "cp");
        QVERIFY(segments.open().ok());
        std::uint32_t number = 0;
        QVERIFY(segments.take(number).ok());
        QCOMPARE(number, 1u);
        files.crash();
        const std::string content = files.content("cp/page-00000001");
        QCOMPARE(content.size(), std::size_t{limits::kPageSegmentBytes});
        QCOMPARE(content.substr(64), std::string(content.size() - 64, '\0'));
    }

    void oneSpareIsKeptAndTheRestRemoved() {
        FaultyFiles files;
        PageSegments segments(files, "cp");
        QVERIFY(segments.open().ok());
        std::uint32_t number = 0;
        for (int i = 0; i < 4; ++i) {
            QVERIFY(segments.take(number).ok());
        }
        QVERIFY(segments.keepOnly({2}, 4).ok());
        QCOMPARE(segments.count(), std::size_t{3}); // 2, 4 and one spare
        QVERIFY(segments.take(number).ok());
        QCOMPARE(number, 1u);
        files.crash();
        QCOMPARE(files.list("cp").value().size(), std::size_t{3});
    }

    void aSpareIsMadeAheadOfNeed() {
        FaultyFiles files;
        PageSegments segments(files, "cp");
        QVERIFY(segments.open().ok());
        std::uint32_t number = 0;
        QVERIFY(segments.take(number).ok());
        QVERIFY(segments.keepOnly({}, number).ok());
        QCOMPARE(segments.count(), std::size_t{2});
        const auto written = files.count(Call::write);
        QVERIFY(segments.take(number).ok());
        QCOMPARE(files.count(Call::write), written);
    }

    void aFullDiskIsToldAndLeavesNothingHalfMade() {
        FaultyFiles files;
        PageSegments segments(files, "cp");
        QVERIFY(segments.open().ok());
        files.setCapacity(limits::kPageSegmentBytes - 1);
        std::uint32_t number = 0;
        QVERIFY(segments.take(number).error().code == base::ErrorCode::full);
        QVERIFY(files.list("cp").value().empty());
        files.setCapacity(limits::kPageSegmentBytes);
        QVERIFY(segments.take(number).ok());
        QVERIFY(segments.keepOnly({}, number).ok()); // no room for a spare is no failure
        QCOMPARE(segments.count(), std::size_t{1});
    }

    void aSegmentOfANewerVersionIsRefused() {
        FaultyFiles files;
        PageSegments segments(files, "cp");
        QVERIFY(segments.open().ok());
        std::uint32_t number = 0;
        QVERIFY(segments.take(number).ok());
        std::string content = files.content("cp/page-00000001");
        log::PageSegmentHeader header;
        std::memcpy(&header, content.data(), sizeof header);
        header.requiredFeatures = 1;
        header.crc =
            base::crc32c({reinterpret_cast<const base::Byte*>(&header) + 12, sizeof header - 12});
        std::memcpy(content.data(), &header, sizeof header);
        files.setContent("cp/page-00000001", content);
        const base::Status opened = PageSegments(files, "cp").open();
        QVERIFY(opened.error().code == base::ErrorCode::unsupported);
        QVERIFY(opened.error().text.find("page-00000001") != std::string::npos);
    }

    void aHalfMadeSegmentIsNotUsedAgain() {
        FaultyFiles files;
        files.setContent("cp/page-00000001", std::string(5000, '\0'));
        PageSegments segments(files, "cp");
        QVERIFY(segments.open().ok());
        QVERIFY(segments.keepOnly({}, 0).ok());
        QVERIFY(files.list("cp").value().empty());
    }
};

QTEST_APPLESS_MAIN(TestPageSegments)
#include "tst_page_segments.moc"
