// SPDX-License-Identifier: Apache-2.0
// The disk that the crash tests trust: what it forgets, what it keeps and how it fails.
#include "support/faulty_files.h"

#include <QTest>

#include <set>

using namespace millrace;
using base::ErrorCode;
using base::OpenMode;
using support::Call;
using support::FaultyFiles;
using support::Keep;

namespace {

base::Status writeAt(base::File& file, std::uint64_t offset, std::string_view text) {
    const base::Bytes part = base::bytesOf(text);
    return file.write(offset, {&part, 1});
}

std::unique_ptr<base::File> create(FaultyFiles& files, const std::string& path) {
    [[maybe_unused]] const bool made = files.list(support::folderOf(path)).ok();
    return std::move(files.open(path, OpenMode::create)).value();
}

} // namespace

class TestFaultyFiles : public QObject {
    Q_OBJECT

  private slots:
    void unsyncedBytesAreForgotten() {
        FaultyFiles files;
        auto file = create(files, "d/a");
        QVERIFY(files.syncDirectory("d").ok());
        QVERIFY(writeAt(*file, 0, "kept").ok());
        QVERIFY(file->sync().ok());
        QVERIFY(writeAt(*file, 2, "lost and longer").ok());
        QCOMPARE(files.content("d/a"), std::string("kelost and longer"));
        files.crash();
        QCOMPARE(files.content("d/a"), std::string("kept"));
        QVERIFY(!writeAt(*file, 0, "x").ok());
    }

    void unsyncedNamesAreForgotten() {
        FaultyFiles files;
        create(files, "d/a");
        QVERIFY(files.syncDirectory("d").ok());
        create(files, "d/b");
        QVERIFY(files.rename("d/a", "d/c").ok());
        QCOMPARE(files.list("d").value(), std::vector<std::string>({"b", "c"}));
        files.crash();
        QCOMPARE(files.list("d").value(), std::vector<std::string>({"a"}));
    }

    void syncingTheFileDoesNotKeepItsName() {
        FaultyFiles files;
        auto file = create(files, "d/a");
        QVERIFY(writeAt(*file, 0, "x").ok());
        QVERIFY(file->sync().ok());
        files.crash();
        QVERIFY(files.list("d").value().empty());
    }

    void removedFilesComeBackUntilTheFolderIsSynced() {
        FaultyFiles files;
        create(files, "d/a");
        QVERIFY(files.syncDirectory("d").ok());
        QVERIFY(files.remove("d/a").ok());
        QCOMPARE(support::FaultyFiles(files.afterPowerCut()).list("d").value().size(),
                 std::size_t{1});
        QVERIFY(files.syncDirectory("d").ok());
        files.crash();
        QVERIFY(files.list("d").value().empty());
    }

    void tornWritesKeepWholeSectors() {
        FaultyFiles files;
        auto file = create(files, "d/a");
        QVERIFY(files.syncDirectory("d").ok());
        QVERIFY(writeAt(*file, 0, std::string(2048, 'o')).ok());
        QVERIFY(file->sync().ok());
        QVERIFY(writeAt(*file, 0, std::string(2048, 'n')).ok());
        std::set<std::string> outcomes;
        for (std::uint64_t seed = 0; seed < 200; ++seed) {
            const FaultyFiles after(files.afterPowerCut({Keep::What::sectors, seed}));
            const std::string content = after.content("d/a");
            std::string sectors;
            for (std::size_t at = 0; at < 2048; at += 512) {
                const std::string sector = content.substr(at, 512);
                QCOMPARE(sector, std::string(512, sector[0]));
                sectors += sector[0];
            }
            outcomes.insert(sectors);
        }
        QVERIFY(outcomes.size() > 10);
        QVERIFY(outcomes.count("oooo") && outcomes.count("nnnn"));
    }

    void aSnapshotLeavesTheOriginalAlone() {
        FaultyFiles files;
        auto file = create(files, "d/a");
        QVERIFY(files.syncDirectory("d").ok());
        QVERIFY(writeAt(*file, 0, "x").ok());
        FaultyFiles copy(files.afterPowerCut({Keep::What::everything, 0}));
        copy.setContent("d/a", "changed");
        QCOMPARE(files.content("d/a"), std::string("x"));
    }

    void theNthCallFails() {
        FaultyFiles files;
        auto file = create(files, "d/a");
        files.failNth(Call::write, 2, {ErrorCode::io, "broken"});
        QVERIFY(writeAt(*file, 0, "aaaa").ok());
        const base::Status second = writeAt(*file, 0, "bbbb");
        QCOMPARE(second.error().text, std::string("broken"));
        QCOMPARE(files.content("d/a"), std::string("bbaa"));
        QVERIFY(writeAt(*file, 0, "cccc").ok());
        files.failNthOverall(1, {ErrorCode::io, "any"}, support::Times::always);
        QVERIFY(!files.list("d").ok());
        QVERIFY(!file->sync().ok());
        files.heal();
        QVERIFY(files.list("d").ok());
    }

    void aFailedSyncIsNotRepairedByTheNext() {
        FaultyFiles files;
        auto file = create(files, "d/a");
        QVERIFY(files.syncDirectory("d").ok());
        QVERIFY(writeAt(*file, 0, std::string(64 * 512, 'x')).ok());
        files.failNth(Call::sync, 1, {ErrorCode::io, "broken"});
        QVERIFY(!file->sync().ok());
        QVERIFY(file->sync().ok());
        files.crash();
        QVERIFY(files.content("d/a") != std::string(64 * 512, 'x'));
    }

    void theDiskFillsUpAndCanBeRaised() {
        FaultyFiles files;
        auto file = create(files, "d/a");
        files.setCapacity(6);
        QVERIFY(writeAt(*file, 0, "1234").ok());
        QVERIFY(files.freeSpace("d").value() == 2);
        QVERIFY(writeAt(*file, 0, "5678").ok());
        QVERIFY(writeAt(*file, 4, "abcd").error().code == ErrorCode::full);
        QCOMPARE(files.content("d/a"), std::string("5678ab"));
        files.setCapacity(8);
        QVERIFY(writeAt(*file, 4, "abcd").ok());
    }

    void theHookSeesTheDiskBeforeTheSync() {
        FaultyFiles files;
        auto file = create(files, "d/a");
        QVERIFY(files.syncDirectory("d").ok());
        QVERIFY(writeAt(*file, 0, "x").ok());
        std::vector<std::string> seen;
        files.onSync([&](const std::string& path) {
            seen.push_back(path + "=" + FaultyFiles(files.afterPowerCut()).content("d/a"));
        });
        QVERIFY(file->sync().ok());
        QVERIFY(files.syncDirectory("d").ok());
        QCOMPARE(seen, std::vector<std::string>({"d/a=", "d=x"}));
        QCOMPARE(files.count(Call::sync), std::uint64_t{1});
        QCOMPARE(files.bytesWritten(), std::uint64_t{1});
    }

    void readsBehindTheEndAndBadOpensFail() {
        FaultyFiles files;
        auto file = create(files, "d/a");
        QVERIFY(writeAt(*file, 0, "abc").ok());
        base::Byte out[4];
        QVERIFY(file->read(0, {out, 3}).ok());
        QVERIFY(file->read(0, {out, 4}).error().code == ErrorCode::damaged);
        QVERIFY(files.open("d/a", OpenMode::create).error().code == ErrorCode::exists);
        QVERIFY(files.open("d/b", OpenMode::read).error().code == ErrorCode::notFound);
        auto reader = std::move(files.open("d/a", OpenMode::read)).value();
        QVERIFY(!writeAt(*reader, 0, "x").ok());
    }

    void aFlippedBitIsOnTheMedium() {
        FaultyFiles files;
        files.setContent("d/a", "a");
        files.flipBit("d/a", 0, 1);
        files.crash();
        QCOMPARE(files.content("d/a"), std::string("c"));
    }
};

QTEST_APPLESS_MAIN(TestFaultyFiles)
#include "tst_faulty_files.moc"
