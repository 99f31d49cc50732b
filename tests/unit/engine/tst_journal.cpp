// SPDX-License-Identifier: Apache-2.0
// The engine's pen: what a turn settles shares entries, and is let go only once those are synced.
#include "engine/journal.h"

#include "base/limits.h"
#include "engine/topology.h"
#include "support/delayed_log.h"

#include <QTest>

using namespace millrace;
using namespace millrace::engine;
using support::DelayedLog;

class JournalTest : public QObject {
    Q_OBJECT

    struct Logs {
        DelayedLog durable{DelayedLog::Kind::durable};
        DelayedLog scratch{DelayedLog::Kind::scratch};
        Journal journal{durable, scratch};
        Vhost vhost{"/"};
        std::vector<std::unique_ptr<Queue>> queues;

        Queue& queue(base::QueueId id, bool durableQueue = true) {
            catalog::QueueSpec spec;
            spec.id = id;
            spec.durable = durableQueue;
            queues.push_back(std::make_unique<Queue>(std::move(spec), vhost));
            return *queues.back();
        }
        base::MessageId message(bool durableLog, std::uint32_t references = 1) {
            log::Entry entry;
            entry.kind = raw(EntryKind::message);
            entry.references = references;
            const base::Bytes part = base::bytesOf("m");
            entry.parts = {&part, 1};
            return journal.appendMessage(durableLog, entry).value();
        }
        void sync() {
            journal.submit();
            durable.advanceAll();
            journal.advanced(durable.horizons());
        }
    };
    static Run lone(const base::MessageId& id) { return {id, 1, 0}; }

  private slots:
    void settlesOfATurnAreOneEntryOfAllQueues() {
        Logs l;
        Queue& q = l.queue(1);
        Queue& r = l.queue(2);
        const auto both = l.message(true, 2);
        const auto one = l.message(true);
        l.sync();
        l.journal.settled(r, lone(both));
        l.journal.settled(q, lone(one));
        l.journal.settled(q, lone(both));
        const auto before = l.journal.entriesAppended();
        l.journal.flush();
        QCOMPARE(l.journal.entriesAppended(), before + 1);
        QVERIFY(l.journal.waitsForSettle(one));
        l.journal.submit();
        QCOMPARE(l.durable.heldEntries(), 2U);
        l.sync();
        QCOMPARE(l.durable.heldEntries(), 0U);
        QVERIFY(!l.journal.waitsForSettle(one));
    }

    void aSettleThatAMajorityDoesNotHaveLetsGoOfNothing() {
        Logs l;
        Queue& q = l.queue(1);
        const auto id = l.message(true);
        l.sync();
        l.journal.settled(q, lone(id));
        l.journal.flush();
        l.journal.submit();
        l.durable.writeTo(l.durable.appended());
        l.durable.syncTo(l.durable.appended()); // it may still be withdrawn
        l.journal.advanced(l.durable.horizons());
        QCOMPARE(l.durable.heldEntries(), 1U);
        l.sync();
        QCOMPARE(l.durable.heldEntries(), 0U);
    }

    void manySettlesAreSeveralEntriesOfBoundedSize() {
        Logs l;
        Queue& q = l.queue(1);
        std::vector<base::MessageId> ids;
        for (int i = 0; i < 40'000; ++i) {
            ids.push_back(l.message(true));
        }
        l.sync();
        for (std::size_t i = 0; i < ids.size(); i += 2) { // no two are neighbours
            l.journal.settled(q, lone(ids[i]));
        }
        const auto bytes = l.journal.bytesAppended();
        const auto entries = l.journal.entriesAppended();
        l.journal.flush();
        const auto written = l.journal.entriesAppended() - entries;
        QVERIFY(written > 1);
        QVERIFY((l.journal.bytesAppended() - bytes) / written <= limits::kSettleEntryBytes + 64);
        l.sync();
        QCOMPARE(l.durable.heldEntries(), 20'000U);
    }

    void scratchAndUnloggedQueuesLetGoAtOnce() {
        Logs l;
        Queue& logged = l.queue(1);
        Queue& unlogged = l.queue(2, false);
        const auto transient = l.message(false);
        const auto persistent = l.message(true);
        l.sync();
        l.journal.settled(logged, lone(transient));
        l.journal.settled(unlogged, lone(persistent));
        QCOMPARE(l.scratch.heldEntries(), 0U);
        QCOMPARE(l.durable.heldEntries(), 0U);
        const auto before = l.journal.entriesAppended();
        l.journal.flush();
        QCOMPARE(l.journal.entriesAppended(), before);
    }

    void aFullLogKeepsSettlesAndDecisionsForLaterInOrder() {
        Logs l;
        Queue& q = l.queue(1);
        const auto id = l.message(true);
        l.sync();
        l.durable.refuse(true);
        l.journal.settled(q, lone(id));
        QVERIFY(!l.journal.appendDecided(EntryKind::catalog, log::Waiting::nobody, "first").ok());
        l.journal.flush();
        l.durable.refuse(false);
        QVERIFY(l.journal.appendDecided(EntryKind::catalog, log::Waiting::nobody, "second").ok());
        l.journal.flush();
        l.sync();
        QCOMPARE(l.durable.heldEntries(), 0U);
        std::vector<std::string> said;
        const auto replayed = l.durable.replay(1, [&said](const log::Replayed& entry) {
            if (entry.kind == raw(EntryKind::catalog)) {
                said.emplace_back(base::textOf(entry.payload));
            }
        });
        QVERIFY(replayed.ok());
        QCOMPARE(said, (std::vector<std::string>{"first", "second"}));
    }

    void whatGoesWithSettlesWaitsForThem() {
        Logs l;
        Queue& q = l.queue(1);
        const auto id = l.message(true);
        const auto piece = l.message(true);
        l.sync();
        l.journal.settled(q, lone(id));
        l.journal.releaseWithSettles(lone(piece));
        l.journal.flush();
        QCOMPARE(l.durable.heldEntries(), 2U);
        l.sync();
        QCOMPARE(l.durable.heldEntries(), 0U);
    }

    void nothingIsDeliverableInsideACommitThatIsNotWhole() {
        Logs l;
        const auto before = l.message(true);
        l.sync();
        const auto first = l.message(true);
        l.journal.submit();
        const auto commit = l.journal.appendCommit(1, first.record, {});
        QVERIFY(commit.ok());
        l.journal.submit();
        l.durable.advanceTo(first.record);
        l.journal.advanced(l.durable.horizons());
        QVERIFY(l.journal.isVisible(first.record));
        QCOMPARE(l.journal.deliverable(), before.record);
        l.sync();
        QCOMPARE(l.journal.deliverable(), commit.value());
    }
};

QTEST_APPLESS_MAIN(JournalTest)
#include "tst_journal.moc"
