// SPDX-License-Identifier: Apache-2.0
// The catalog on disk: what was applied is there after a reopen, in one piece with its stamp, or
// not at all.
#include <bit> // the first header of all must not be <compare>: Qt 6.4's moc stumbles over it

#include "catalog/store.h"

#include "catalog/change_codec.h"
#include "catalog/database.h"

#include <QElapsedTimer>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <thread>

using namespace millrace;
using namespace millrace::catalog;

namespace {

QueueSpec queueNamed(base::QueueId id, const std::string& name) {
    QueueSpec spec;
    spec.id = id;
    spec.vhost = "/";
    spec.name = name;
    return spec;
}

// As bytes, so that every field counts.
template <typename Spec> std::vector<std::string> encoded(const std::vector<Spec>& specs) {
    std::vector<std::string> out;
    for (const Spec& spec : specs) {
        encode({true, spec}, out.emplace_back());
    }
    std::sort(out.begin(), out.end());
    return out;
}

} // namespace

class StoreTest : public QObject {
    Q_OBJECT

  private slots:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }

    void aNewStoreIsEmptyAndReflectsNothing() {
        const Snapshot empty = reloaded();
        QCOMPARE(empty.stamp, base::LogIndex{0});
        QCOMPARE(empty.nextQueueId, base::QueueId{1});
        QVERIFY(empty.vhosts.empty() && empty.users.empty() && empty.exchanges.empty());
        QVERIFY(empty.queues.empty() && empty.bindings.empty());
    }

    void everythingComesBackAfterAReopen() {
        const std::string odd("a\0b\xFF'\"", 6);
        Snapshot wanted;
        wanted.vhosts = {{"/"}, {odd}};
        wanted.users = {{"guest", "hash", {"administrator", "monitoring"}}, {"none", "", {}}};
        wanted.exchanges = {{"/", "x", "topic", true, true, false, odd},
                            {odd, "", "direct", false, false, true, ""}};
        QueueSpec quorum = queueNamed(7, odd);
        quorum.type = QueueType::quorum;
        quorum.arguments = std::string(70000, '\x01');
        QueueSpec transient = queueNamed(9, "t");
        transient.durable = false;
        transient.exclusive = transient.autoDelete = true;
        wanted.queues = {quorum, transient};
        wanted.bindings = {{"/", "x", "q", "a.#", false, ""}, {"/", "x", "q", "a.#", true, odd}};
        std::vector<Change> changes;
        const auto put = [&changes](const auto& specs) {
            for (const auto& spec : specs) {
                changes.push_back({true, spec});
            }
        };
        put(wanted.vhosts), put(wanted.users), put(wanted.exchanges), put(wanted.queues),
            put(wanted.bindings);
        apply(changes, 12);
        const Snapshot found = reloaded();
        QCOMPARE(found.stamp, base::LogIndex{12});
        QCOMPARE(found.nextQueueId, base::QueueId{10});
        QCOMPARE(encoded(found.vhosts), encoded(wanted.vhosts));
        QCOMPARE(encoded(found.users), encoded(wanted.users));
        QCOMPARE(encoded(found.exchanges), encoded(wanted.exchanges));
        QCOMPARE(encoded(found.queues), encoded(wanted.queues));
        QCOMPARE(encoded(found.bindings), encoded(wanted.bindings));
    }

    void puttingTwiceReplacesAndDroppingTwiceIsOk() {
        const BindingSpec binding{"/", "x", "q", "k", false, "args"};
        const BindingSpec other{"/", "x", "q", "k", false, "other"};
        ExchangeSpec exchange{"/", "x", "topic", true, false, false, ""};
        QueueSpec queue = queueNamed(3, "q");
        apply({{true, exchange}, {true, queue}, {true, binding}, {true, binding}, {true, other}},
              1);
        exchange.arguments = queue.arguments = "new";
        apply({{true, exchange}, {true, queue}}, 2);
        QCOMPARE(reloaded().exchanges.at(0).arguments, std::string("new"));
        QCOMPARE(reloaded().queues.at(0).arguments, std::string("new"));
        QCOMPARE(reloaded().bindings.size(), std::size_t{2});
        for (base::LogIndex index : {3, 4}) {
            apply({{false, exchange},
                   {false, queue},
                   {false, binding},
                   {false, VhostSpec{"v"}},
                   {false, UserSpec{"u", "", {}}}},
                  index);
        }
        const Snapshot found = reloaded();
        QVERIFY(found.exchanges.empty() && found.queues.empty());
        QCOMPARE(found.bindings.at(0).arguments, std::string("other"));
    }

    void theIdOfADroppedQueueIsNeverGivenAgain() {
        apply({{true, queueNamed(5, "q")}, {false, queueNamed(5, "q")}}, 1);
        apply({{true, queueNamed(2, "old")}}, 2);
        QCOMPARE(reloaded().nextQueueId, base::QueueId{6});
    }

    void aBatchThatFailsLeavesNothing() {
        apply({{true, queueNamed(1, "q")}}, 10);
        auto store = opened();
        // Two queues of one name cannot be.
        const std::vector<Change> faulty{{true, VhostSpec{"v"}}, {true, queueNamed(9, "q")}};
        QVERIFY(!store.apply(faulty, 11).ok());
        QCOMPARE(store.load().value().stamp, base::LogIndex{10});
        QVERIFY(store.load().value().vhosts.empty());
        QCOMPARE(store.load().value().nextQueueId, base::QueueId{2});
        QVERIFY(store.apply(std::vector<Change>{{true, VhostSpec{"v"}}}, 11).ok());
        QCOMPARE(reloaded().stamp, base::LogIndex{11});
    }

    void theStampNeverGoesBack() {
        auto store = opened();
        QVERIFY(store.apply({}, 5).ok());
        QVERIFY(store.apply({}, 5).ok());
        const auto status = store.apply({}, 4);
        QCOMPARE(status.error().code, base::ErrorCode::invalid);
        QVERIFY(status.error().text.find("up to 5") != std::string::npos);
    }

    void tenThousandDeclarationsTakeWellUnderASecond() {
        std::vector<Change> changes;
        for (base::QueueId id = 1; id <= 10000; ++id) {
            changes.push_back({true, queueNamed(id, "queue number " + std::to_string(id))});
        }
        QElapsedTimer timer;
        timer.start();
        apply(changes, 1);
        const qint64 applied = timer.restart();
        QCOMPARE(reloaded().queues.size(), std::size_t{10000});
        qInfo("applied in %lld ms, loaded in %lld ms", applied, timer.elapsed());
        QVERIFY2(applied < 1000, "10,000 queues in one batch must take well under a second");
    }

    void itMayBeHandedToAnotherThread() {
        auto store = opened();
        std::thread([&store] {
            QVERIFY(store.apply(std::vector<Change>{{true, VhostSpec{"v"}}}, 1).ok());
        }).join();
        QCOMPARE(reloaded().vhosts.size(), std::size_t{1});
    }

    void whatIsNoDatabaseIsRefused() {
        QFile file(QString::fromStdString(path()));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray(8192, 'x'));
        file.close();
        const auto store = Store::open(path());
        QCOMPARE(store.error().code, base::ErrorCode::damaged);
        QVERIFY(store.error().text.find(path()) != std::string::npos);
    }

    void aFolderThatDoesNotExistIsNamed() {
        const auto store = Store::open(path() + "/nowhere/catalog.db");
        QCOMPARE(store.error().code, base::ErrorCode::io);
        QVERIFY(store.error().text.find("nowhere") != std::string::npos);
    }

    void aForeignWriterIsWaitedForAndThenNamed() {
        auto store = opened();
        auto other = Database::open(path());
        QVERIFY((*other)->execute("BEGIN IMMEDIATE").ok());
        const auto status = store.apply({}, 1);
        QCOMPARE(status.error().code, base::ErrorCode::locked);
        QVERIFY((*other)->execute("ROLLBACK").ok());
        QVERIFY(store.apply({}, 1).ok());
    }

    void aQueueTypeOfANewerVersionIsRefused() {
        apply({{true, queueNamed(1, "q")}}, 1);
        QVERIFY(Database::open(path()).value()->execute("UPDATE queues SET type = 'odd'").ok());
        QCOMPARE(opened().load().error().code, base::ErrorCode::unsupported);
    }

  private:
    std::string path() const { return folder_->filePath("catalog.db").toStdString(); }
    Store opened() const {
        auto store = Store::open(path());
        if (!store) {
            qFatal("%s", store.error().text.c_str());
        }
        return std::move(store).value();
    }
    void apply(const std::vector<Change>& changes, base::LogIndex upTo) const {
        const auto status = opened().apply(changes, upTo);
        QVERIFY2(status.ok(), status.ok() ? "" : status.error().text.c_str());
    }
    Snapshot reloaded() const {
        auto snapshot = opened().load();
        return snapshot ? std::move(snapshot).value() : Snapshot{};
    }

    std::unique_ptr<QTemporaryDir> folder_;
};

QTEST_APPLESS_MAIN(StoreTest)
#include "tst_store.moc"
