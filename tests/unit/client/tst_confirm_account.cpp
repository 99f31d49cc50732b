// SPDX-License-Identifier: Apache-2.0
// Confirms in any order, merged into ranges, and answers that make no sense told apart.
#include "client/confirm_account.h"

#include "support/seed.h"

#include <QtTest>

#include <set>

using namespace millrace;
using namespace millrace::client;

namespace {

ConfirmAccount withPublished(int count) {
    ConfirmAccount account;
    for (int i = 0; i < count; ++i) {
        account.published();
    }
    return account;
}

} // namespace

class ConfirmAccountTest : public QObject {
    Q_OBJECT

  private slots:
    void messagesAreNumberedFromOne() {
        ConfirmAccount account;
        QCOMPARE(account.published(), std::uint64_t{1});
        QCOMPARE(account.published(), std::uint64_t{2});
        QCOMPARE(account.outstanding(), std::uint64_t{2});
        QCOMPARE(account.last(), std::uint64_t{2});
    }

    void multipleAnswersAllBeforeThatWait() {
        ConfirmAccount account = withPublished(10);
        QVERIFY(account.answered(3, false, true));
        QVERIFY(account.answered(6, true, true));
        QCOMPARE(account.outstanding(), std::uint64_t{4});
        QVERIFY((account.take() == std::vector<Confirm>{{3, 3, true}, {1, 2, true}, {4, 6, true}}));
        QVERIFY(account.take().empty());
    }

    void neighboursBecomeOneRangeAndRefusalsStayApart() {
        ConfirmAccount account = withPublished(5);
        QVERIFY(account.answered(1, false, true));
        QVERIFY(account.answered(2, false, true));
        QVERIFY(account.answered(3, false, false));
        QVERIFY(account.answered(5, true, true));
        QVERIFY(
            (account.take() == std::vector<Confirm>{{1, 2, true}, {3, 3, false}, {4, 5, true}}));
        QCOMPARE(account.refused(), std::uint64_t{1});
        QCOMPARE(account.outstanding(), std::uint64_t{0});
    }

    void zeroMultipleMeansAllSoFar() {
        ConfirmAccount account = withPublished(4);
        QVERIFY(account.answered(0, true, true));
        QCOMPARE(account.outstanding(), std::uint64_t{0});
    }

    void answersToNobodyAreToldApart() {
        ConfirmAccount account = withPublished(3);
        QVERIFY(!account.answered(4, false, true)); // never published
        QVERIFY(!account.answered(0, false, true));
        QVERIFY(account.answered(2, false, true));
        QVERIFY(!account.answered(2, false, true)); // twice
        QVERIFY(account.answered(3, true, true));
        QVERIFY(!account.answered(1, false, true));
        QVERIFY(!account.answered(3, true, true));
        QVERIFY(!ConfirmAccount().answered(0, true, true));
    }

    void randomOrdersAgreeWithASet() {
        support::Seed seed(0xC0F);
        support::Random random(seed.value());
        for (int round = 0; round < 200; ++round) {
            ConfirmAccount account;
            std::set<std::uint64_t> waiting;
            while (account.last() < 300 || !waiting.empty()) {
                if (account.last() < 300 && random.chance(60)) {
                    waiting.insert(account.published());
                    continue;
                }
                const std::uint64_t tag = random.between(1, account.last() + 1);
                const bool multiple = random.chance(10);
                const bool sensible =
                    multiple ? !waiting.empty() && tag >= *waiting.begin() && tag <= account.last()
                             : waiting.count(tag) == 1;
                QCOMPARE(account.answered(tag, multiple, true), sensible);
                if (sensible) {
                    waiting.erase(multiple ? waiting.begin() : waiting.find(tag),
                                  waiting.upper_bound(tag));
                }
                QCOMPARE(account.outstanding(), std::uint64_t{waiting.size()});
            }
            std::uint64_t told = 0;
            for (const Confirm& confirm : account.take()) {
                told += confirm.to - confirm.from + 1;
            }
            QCOMPARE(told, std::uint64_t{300});
        }
    }
};

QTEST_APPLESS_MAIN(ConfirmAccountTest)
#include "tst_confirm_account.moc"
