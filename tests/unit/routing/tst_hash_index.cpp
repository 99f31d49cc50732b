// SPDX-License-Identifier: Apache-2.0
// Names are found by hash whatever was added and removed before, and while the table moves.
#include "engine/hash_index.h"

#include "support/random.h"
#include "support/seed.h"

#include <QtTest>

#include <unordered_map>
#include <vector>

using millrace::engine::HashIndex;

class HashIndexTest : public QObject {
    Q_OBJECT

  private slots:
    void nothingIsFoundInAnEmptyTable() {
        QCOMPARE(HashIndex().find(1, [](std::uint32_t) { return true; }), HashIndex::kNone);
    }

    void equalHashesAreToldApartByTheItem() {
        HashIndex index;
        for (std::uint32_t item = 0; item < 100; ++item) {
            index.insert(7, item);
        }
        for (std::uint32_t item = 0; item < 100; ++item) {
            QCOMPARE(index.find(7, [=](std::uint32_t candidate) { return candidate == item; }),
                     item);
        }
        QCOMPARE(index.find(8, [](std::uint32_t) { return true; }), HashIndex::kNone);
    }

    // Growing and shrinking by turns, so that the old and the new table are both in use most of the
    // time.
    void randomInsertsAndErasesAgreeWithAMap() {
        const millrace::support::Seed seed(20261130);
        millrace::support::Random random(seed.value());
        HashIndex index;
        std::unordered_map<std::uint64_t, std::uint32_t> oracle; // hash to item
        std::vector<std::uint64_t> hashes;
        for (std::uint32_t step = 0; step < 60000; ++step) {
            const bool growing = (step / 10000) % 2 == 0;
            if (hashes.empty() || random.chance(growing ? 70 : 30)) {
                const std::uint64_t hash = random.below(1U << 20);
                if (oracle.emplace(hash, step).second) {
                    index.insert(hash, step);
                    hashes.push_back(hash);
                }
            } else {
                const std::size_t at = random.below(hashes.size());
                index.erase(hashes[at], oracle.at(hashes[at]));
                oracle.erase(hashes[at]);
                hashes[at] = hashes.back();
                hashes.pop_back();
            }
            const std::uint64_t asked = random.below(1U << 20);
            const auto expected = oracle.find(asked);
            const std::uint32_t item =
                expected == oracle.end() ? HashIndex::kNone : expected->second;
            QCOMPARE(index.find(asked, [=](std::uint32_t candidate) { return candidate == item; }),
                     item);
            QCOMPARE(index.size(), oracle.size());
        }
    }
};

QTEST_APPLESS_MAIN(HashIndexTest)
#include "tst_hash_index.moc"
