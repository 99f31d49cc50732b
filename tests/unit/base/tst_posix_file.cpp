// SPDX-License-Identifier: Apache-2.0
// The POSIX file system keeps the promises of base/file.h, with real files and real errors.
#include "base/file.h"

#include <QTemporaryDir>
#include <QtTest>

#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace millrace::base;

namespace {

// No file may grow beyond `bytes` while this lives; the write that would gets a short count, then
// EFBIG.
class FileSizeLimit {
  public:
    explicit FileSizeLimit(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit lower{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &lower);
        std::signal(SIGXFSZ, SIG_IGN);
    }
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, SIG_DFL);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

  private:
    rlimit before_{};
};

std::string readAll(File& file) {
    std::string out(file.size().value(), '\0');
    const Status done = file.read(0, {reinterpret_cast<Byte*>(out.data()), out.size()});
    return done ? out : "(" + done.error().text + ")";
}

} // namespace

class PosixFileTest : public QObject {
    Q_OBJECT

    std::string path(const char* name) const {
        return folder_->filePath(QString::fromLatin1(name)).toStdString();
    }
    std::unique_ptr<File> create(const char* name) const {
        auto opened = systemFiles().open(path(name), OpenMode::create);
        return opened ? std::move(opened).value() : nullptr;
    }

    std::unique_ptr<QTemporaryDir> folder_;

  private slots:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }

    void partsLieOneBehindTheOtherAtTheOffset() {
        auto file = create("f");
        QVERIFY(file);
        const Bytes parts[] = {bytesOf("ab"), {}, bytesOf("cde"), bytesOf("f")};
        QVERIFY(file->write(3, parts).ok());
        QVERIFY(file->sync().ok());
        file->forget(0, 0);
        QVERIFY(readAll(*file) == std::string("\0\0\0abcdef", 9));
    }

    void morePartsThanTheSystemTakesAtOnceAreAllWritten() {
        auto file = create("f");
        std::string expected;
        for (int i = 0; i < 5000; ++i) {
            expected.push_back(static_cast<char>('a' + i % 26));
        }
        std::vector<Bytes> parts;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            parts.push_back(bytesOf(expected).subspan(i, 1));
        }
        QVERIFY(file->write(0, parts).ok());
        QVERIFY(readAll(*file) == expected);
    }

    void aShortWriteIsContinuedUntilTheSystemSaysWhy() {
        auto file = create("f");
        const std::string large(10'000, 'x');
        const Bytes parts[] = {bytesOf("head"), bytesOf(large), bytesOf(large)};
        Status done;
        {
            const FileSizeLimit limit(15'001);
            done = file->write(0, parts);
        }
        QVERIFY(!done.ok());
        QVERIFY(done.error().code == ErrorCode::io);
        QCOMPARE(file->size().value(), std::uint64_t{15'001}); // everything up to the limit arrived
    }

    void aFullDiskIsToldFromOtherFailures() {
        auto opened = systemFiles().open("/dev/full", OpenMode::readWrite);
        QVERIFY(opened.ok());
        const Bytes parts[] = {bytesOf("x")};
        const Status done = opened.value()->write(0, parts);
        QVERIFY(!done.ok());
        QVERIFY(done.error().code == ErrorCode::full);
        QVERIFY(done.error().text.find("/dev/full") != std::string::npos);
    }

    void aReadBehindTheEndIsDamage() {
        auto file = create("f");
        const Bytes parts[] = {bytesOf("abc")};
        QVERIFY(file->write(0, parts).ok());
        Byte out[4];
        QVERIFY(file->read(1, std::span(out, 2)).ok());
        QCOMPARE(out[0], Byte{'b'});
        const Status done = file->read(1, std::span(out, 3));
        QVERIFY(!done.ok());
        QVERIFY(done.error().code == ErrorCode::damaged);
    }

    void aFailedSyncIsToldAndNotRepeated() {
        auto opened = systemFiles().open("/dev/null", OpenMode::readWrite);
        QVERIFY(opened.ok());
        QVERIFY(!opened.value()->sync().ok()); // EINVAL: nothing there that could be synced
    }

    void openModesAreKept() {
        QVERIFY(create("f"));
        auto again = systemFiles().open(path("f"), OpenMode::create);
        QVERIFY(!again.ok());
        QVERIFY(again.error().code == ErrorCode::exists);
        auto missing = systemFiles().open(path("g"), OpenMode::readWrite);
        QVERIFY(!missing.ok());
        QVERIFY(missing.error().code == ErrorCode::notFound);
        auto reading = systemFiles().open(path("f"), OpenMode::read);
        QVERIFY(reading.ok());
        const Bytes parts[] = {bytesOf("x")};
        QVERIFY(!reading.value()->write(0, parts).ok());
    }

    void filesAreNotInheritedByPrograms() {
        const int before = ::dup(0);
        ::close(before);
        auto file = create("f"); // takes the lowest free number
        QVERIFY(file);
        QVERIFY((::fcntl(before, F_GETFD) & FD_CLOEXEC) != 0);
        file.reset();
        QCOMPARE(::fcntl(before, F_GETFD), -1); // closed with its File
    }

    void listMakesTheFolderWithItsParentsAndSortsNames() {
        const std::string deep = path("a/b/c");
        auto empty = systemFiles().list(deep);
        QVERIFY2(empty.ok(), empty.ok() ? "" : empty.error().text.c_str());
        QVERIFY(empty.value().empty());
        QVERIFY(systemFiles().open(deep + "/two", OpenMode::create).ok());
        QVERIFY(systemFiles().open(deep + "/one", OpenMode::create).ok());
        QVERIFY((systemFiles().list(deep).value() == std::vector<std::string>{"one", "two"}));
        QVERIFY(systemFiles().syncDirectory(deep).ok());
        QVERIFY(systemFiles().list(deep + "/with/slash/").ok());
    }

    void aFolderThatCannotBeMadeIsAnError() {
        QVERIFY(create("f"));
        auto listed = systemFiles().list(path("f/below"));
        QVERIFY(!listed.ok());
        QVERIFY(listed.error().text.find("f/below") != std::string::npos);
    }

    void renameReplacesAndRemoveRemoves() {
        auto file = create("new");
        const Bytes parts[] = {bytesOf("new")};
        QVERIFY(file->write(0, parts).ok());
        QVERIFY(create("old"));
        QVERIFY(systemFiles().rename(path("new"), path("old")).ok());
        auto opened = systemFiles().open(path("old"), OpenMode::read);
        QVERIFY(readAll(*opened.value()) == "new");
        QVERIFY(systemFiles().remove(path("old")).ok());
        const Status again = systemFiles().remove(path("old"));
        QVERIFY(!again.ok());
        QVERIFY(again.error().code == ErrorCode::notFound);
        QVERIFY(!systemFiles().rename(path("new"), path("old")).ok());
    }

    void freeSpaceIsAskedOfTheFolderGiven() {
        QVERIFY(systemFiles().freeSpace(path(".")).value() > 0);
        QVERIFY(!systemFiles().freeSpace(path("missing")).ok());
        QVERIFY(!systemFiles().syncDirectory(path("missing")).ok());
    }
};

QTEST_APPLESS_MAIN(PosixFileTest)
#include "tst_posix_file.moc"
