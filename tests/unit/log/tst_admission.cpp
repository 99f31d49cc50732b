// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"
#include "log/admission.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::log;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
constexpr Admission::Bounds kBounds{16 * kMiB, 2, 50 * kMiB};

Admission::Situation plenty() {
    Admission::Situation now;
    now.spares = 2;
    now.room = 10 * kMiB;
    now.freeSpace = 100'000 * kMiB;
    return now;
}

bool accepts(const Admission::Situation& now) {
    Admission admission(kBounds);
    admission.update(now);
    return admission.accepting();
}

} // namespace

class AdmissionTest : public QObject {
    Q_OBJECT

  private slots:
    void withSpaceAndAFastDiskPublishesAreWelcome() { QVERIFY(accepts(plenty())); }

    void aSlowDiskStopsThemUntilHalfIsSynced() {
        Admission admission(kBounds);
        Admission::Situation now = plenty();
        now.unsyncedBytes = limits::kUnreleasedBytes + 1;
        admission.update(now);
        QVERIFY(!admission.accepting() && admission.slow() && !admission.diskShort());
        now.unsyncedBytes = limits::kUnreleasedBytes / 2 + 1;
        admission.update(now);
        QVERIFY(!admission.accepting());
        now.unsyncedBytes = limits::kUnreleasedBytes / 2;
        admission.update(now);
        QVERIFY(admission.accepting());
    }

    void aStoppedLogAFailedSpareAndTooLittleSpaceStopThem() {
        Admission::Situation now = plenty();
        now.stopped = true;
        QVERIFY(!accepts(now));
        now = plenty();
        now.blocked = true;
        QVERIFY(!accepts(now));
        now = plenty();
        now.freeSpace = kBounds.diskFreeLimit - 1;
        QVERIFY(!accepts(now));
    }

    void onATightDiskTheReserveIsNotTouched() {
        Admission::Situation now = plenty();
        now.spares = 0;
        QVERIFY(accepts(now)); // the keeper will make more
        now.freeSpace = kBounds.diskFreeLimit + 32 * kMiB;
        QVERIFY(!accepts(now));
        now.spares = 2;
        QVERIFY(accepts(now)); // within the segment being filled
        now.room = kMiB;
        QVERIFY(!accepts(now)); // the next turn could begin another
        now.spares = 3;
        QVERIFY(accepts(now));
        Admission admission(kBounds);
        now.spares = 2;
        admission.update(now);
        QCOMPARE(admission.sparesWanted(0ns, 0, false), std::uint64_t{3});
    }

    void sparesAreGivenBackToADiskBelowItsFreeLimit() {
        Admission admission(kBounds);
        QCOMPARE(admission.sparesWanted(0s, 0, false), std::uint64_t{2});
        QCOMPARE(admission.sparesWanted(1s, 4, false), std::uint64_t{10});
        Admission::Situation now = plenty();
        now.spares = 10;
        now.freeSpace = kBounds.diskFreeLimit - 40 * kMiB;
        admission.update(now);
        QCOMPARE(admission.sparesWanted(3s, 4, false), std::uint64_t{7}); // three give room back
        now.freeSpace = 0;
        now.spares = 4;
        admission.update(now);
        QCOMPARE(admission.sparesWanted(4s, 4, false), std::uint64_t{2}); // never the reserve
    }

    void sparesFollowTheRateForHalfAMinute() {
        Admission admission(kBounds);
        QCOMPARE(admission.sparesWanted(0s, 0, false), std::uint64_t{2});
        QCOMPARE(admission.sparesWanted(1s, 0, true), std::uint64_t{3});
        QCOMPARE(admission.sparesWanted(2s, 3, false), std::uint64_t{8});
        QCOMPARE(admission.sparesWanted(3s, 100, true), std::uint64_t{14});
        QCOMPARE(admission.sparesWanted(32s, 100, false), std::uint64_t{14});
        QCOMPARE(admission.sparesWanted(33s, 100, false), std::uint64_t{2});
    }
};

QTEST_APPLESS_MAIN(AdmissionTest)
#include "tst_admission.moc"
