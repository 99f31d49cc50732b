// SPDX-License-Identifier: Apache-2.0
// The engine's tests trust this log: what it promises and what it complains about.
#include "support/delayed_log.h"
#include "support/hand_clock.h"

#include <QTest>

using namespace millrace;
using base::MessageId;
using support::DelayedLog;

namespace {

class Recorder final : public log::CommitLogListener {
  public:
    void advanced(const log::Horizons& horizons) override { last = horizons; }
    void withdrawn(base::LogIndex from, const base::Error&) override { withdrawnFrom = from; }
    void fetched(std::uint64_t token, std::vector<log::Stored> entries) override {
        answers.emplace_back(token, std::move(entries));
    }
    bool needed(const MessageId& id, log::EntryKind, std::span<const base::QueueId>) override {
        return id.slot == 0;
    }
    log::Horizons last;
    base::LogIndex withdrawnFrom = 0;
    std::vector<std::pair<std::uint64_t, std::vector<log::Stored>>> answers;
};

MessageId add(DelayedLog& log, std::string_view text, std::uint32_t references = 1) {
    const base::Bytes part = base::bytesOf(text);
    const base::QueueId queue = 7;
    log::Entry entry;
    entry.kind = 1;
    entry.routes = {&queue, 1};
    entry.references = references;
    entry.parts = {&part, 1};
    return log.append(entry).value();
}

std::string readText(DelayedLog& log, const MessageId& id) {
    log::Stored stored;
    return log.read(id, stored) ? std::string(base::textOf(stored.payload)) : "(not in memory)";
}

std::vector<std::string> replayed(DelayedLog& log, base::LogIndex from) {
    std::vector<std::string> texts;
    const auto visitor = [&](const log::Replayed& entry) {
        texts.push_back(entry.damaged ? "(damaged)" : std::string(base::textOf(entry.payload)));
    };
    [[maybe_unused]] const bool ok = log.replay(from, visitor).ok();
    return texts;
}

} // namespace

class TestDelayedLog : public QObject {
    Q_OBJECT

  private slots:
    void idsAreSlotsOfTheOpenRecord() {
        DelayedLog log;
        QVERIFY((add(log, "a") == MessageId{1, 0}));
        QVERIFY((add(log, "b") == MessageId{1, 1}));
        log.submit();
        log.submit();
        QVERIFY((add(log, "c") == MessageId{2, 0}));
    }

    void aRecordIsClosedAtItsBound() {
        DelayedLog log;
        const std::string half(40 * 1024, 'x');
        QCOMPARE(add(log, half).record, 1u);
        QCOMPARE(add(log, half).record, 2u);
    }

    void horizonsMoveOnlyWhenTheTestSaysSo() {
        DelayedLog log;
        Recorder recorder;
        log.start(recorder);
        add(log, "a");
        log.submit();
        add(log, "b");
        log.submit();
        log.harvest();
        QCOMPARE(recorder.last.appended, 2u);
        QCOMPARE(recorder.last.synced, 0u);
        log.advanceTo(1);
        QCOMPARE(recorder.last.synced, 0u);
        log.harvest();
        QCOMPARE(recorder.last.committed, 1u);
        log.writeTo(2);
        log.harvest();
        QCOMPARE(recorder.last.written, 2u);
        QCOMPARE(recorder.last.synced, 1u);
    }

    void fetchIsAnsweredOnHarvestAndInOrder() {
        DelayedLog log;
        Recorder recorder;
        log.start(recorder);
        const MessageId a = add(log, "a");
        const MessageId b = add(log, "b");
        log.submit();
        log.evictTo(1);
        QCOMPARE(readText(log, a), std::string("(not in memory)"));
        log.fetch(5, {b, a});
        QVERIFY(recorder.answers.empty());
        log.holdFetches(true);
        log.harvest();
        QVERIFY(recorder.answers.empty());
        log.holdFetches(false);
        log.harvest();
        QCOMPARE(recorder.answers.size(), std::size_t{1});
        const auto& [token, entries] = recorder.answers[0];
        QCOMPARE(token, std::uint64_t{5});
        QCOMPARE(base::textOf(entries[0].payload), std::string_view("b"));
        QCOMPARE(base::textOf(entries[1].payload), std::string_view("a"));
        QVERIFY(entries[0].owner);
    }

    void viewsOfReadEndWithTheNextCall() {
        DelayedLog log;
        const MessageId id = add(log, "payload");
        log::Stored stored;
        QVERIFY(log.read(id, stored));
        QCOMPARE(base::textOf(stored.payload), std::string_view("payload"));
        log.submit();
        QCOMPARE(base::textOf(stored.payload), std::string_view("\xDD\xDD\xDD\xDD\xDD\xDD\xDD"));
    }

    void withdrawnTailIsToldAndNeverComesBack() {
        DelayedLog log;
        Recorder recorder;
        log.start(recorder);
        for (const char* text : {"a", "b", "c"}) {
            add(log, text);
            log.submit();
        }
        log.advanceTo(1);
        log.withdraw(2, {base::ErrorCode::stopped, "leader lost"});
        log.harvest();
        QCOMPARE(recorder.withdrawnFrom, base::LogIndex{2});
        log::Entry entry;
        entry.kind = 1;
        QVERIFY(log.append(entry).error().code == base::ErrorCode::stopped);
        log.restart();
        QCOMPARE(replayed(log, 1), std::vector<std::string>({"a"}));
        QVERIFY((add(log, "d") == MessageId{2, 0}));
    }

    void restartLosesWhatIsNotSynced() {
        DelayedLog log;
        add(log, "a");
        log.submit();
        const MessageId b = add(log, "b");
        log.submit();
        add(log, "open");
        log.writeTo(2);
        log.syncTo(1);
        log.restart();
        QCOMPARE(replayed(log, 1), std::vector<std::string>({"a"}));
        QCOMPARE(log.holders(b), 0u);
        QCOMPARE(log.horizons().committed, base::LogIndex{1});
    }

    void overReleaseIsAFault() {
        DelayedLog log;
        std::string fault;
        log.onFault = [&](const std::string& text) { fault = text; };
        const MessageId id = add(log, "a", 2);
        log.release(id, 1, 1);
        QCOMPARE(log.holders(id), 1u);
        QVERIFY(fault.empty());
        log.release(id, 1, 2);
        QVERIFY(fault.find("over-release of 1.0") != std::string::npos);
    }

    void readingWhatIsReleasedIsAFault() {
        DelayedLog log;
        std::string fault;
        log.onFault = [&](const std::string& text) { fault = text; };
        const MessageId id = add(log, "a");
        log.release(id, 1, 1);
        log::Stored stored;
        QVERIFY(!log.read(id, stored));
        QVERIFY(!fault.empty());
    }

    void coveredRecordsWithoutHoldersAreGone() {
        DelayedLog log;
        Recorder recorder;
        log.start(recorder);
        const MessageId a = add(log, "a");
        add(log, "command", 0);
        log.submit();
        add(log, "b");
        log.submit();
        log.advanceAll();
        log.covered(3);
        QCOMPARE(log.records(), std::size_t{2});
        log.release(a, 1, 1);
        QCOMPARE(log.records(), std::size_t{1});
        QCOMPARE(log.heldEntries(), std::uint64_t{1});
    }

    void holdersComeBackByReplayAndHold() {
        DelayedLog log;
        Recorder recorder;
        log.start(recorder);
        const MessageId a = add(log, "a", 3);
        log.submit();
        const MessageId b = add(log, "b", 2);
        log.submit();
        log.advanceAll();
        log.covered(2);
        log.restart();
        QCOMPARE(log.holders(a), 0u);
        QCOMPARE(replayed(log, 2), std::vector<std::string>({"b"}));
        log.hold(a, 1, 1);
        log.start(recorder);
        QCOMPARE(log.holders(a), 1u);
        QCOMPARE(log.holders(b), 2u);
    }

    void differencesToWhatTheListenerNeedsAreTold() {
        DelayedLog log;
        Recorder recorder; // needs slot 0 only
        log.start(recorder);
        const MessageId first = add(log, "a");
        const MessageId second = add(log, "b");
        log.submit();
        QCOMPARE(log.differencesToNeeded().size(), std::size_t{1});
        log.release(second, 1, 1);
        QVERIFY(log.differencesToNeeded().empty());
        log.release(first, 1, 1);
        QCOMPARE(log.differencesToNeeded().size(), std::size_t{1});
    }

    void damagedEntriesAreShownAsSuch() {
        DelayedLog log;
        add(log, "a");
        const MessageId b = add(log, "b");
        log.submit();
        log.damage(b);
        log::Stored stored;
        QVERIFY(log.read(b, stored));
        QVERIFY(stored.damaged && stored.payload.empty());
        log.advanceAll();
        log.restart();
        QCOMPARE(replayed(log, 1), std::vector<std::string>({"a", "(damaged)"}));
    }

    void scratchIsReleasedAtOnceAndGoneAtRestart() {
        DelayedLog log(DelayedLog::Kind::scratch);
        const MessageId id = add(log, "a");
        QVERIFY(id.isScratch());
        log.submit();
        QCOMPARE(log.horizons().committed, base::LogIndex{1});
        QCOMPARE(readText(log, id), std::string("a"));
        log.restart();
        QVERIFY(replayed(log, 1).empty());
    }

    void logTimeNeverGoesBack() {
        support::HandClock clock;
        DelayedLog log(DelayedLog::Kind::durable, &clock);
        add(log, "a");
        log.submit();
        clock.jump(std::chrono::milliseconds(-5000));
        add(log, "b");
        log.submit();
        log.advanceAll();
        log.restart();
        std::vector<std::int64_t> times;
        QVERIFY(log.replay(1, [&](const log::Replayed& e) { times.push_back(e.wallMs); }).ok());
        QCOMPARE(times, std::vector<std::int64_t>(2, 1'700'000'000'000));
    }
};

QTEST_APPLESS_MAIN(TestDelayedLog)
#include "tst_delayed_log.moc"
