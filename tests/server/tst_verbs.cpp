// SPDX-License-Identifier: Apache-2.0
// status, publish and consume against a running server, as scripts use them: data on standard
// output, words for people on standard error, sysexits codes.
#include "server/program_run.h"
#include "server/started_broker.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

using namespace millrace;
using namespace millrace::server_tests;

namespace {

constexpr int kFailed = 1;
constexpr int kPartly = 3;
constexpr int kUsage = 64;
constexpr int kBadData = 65;
constexpr int kNoInput = 66;
constexpr int kBadLogin = 67;
constexpr int kUnreachable = 69;

} // namespace

class VerbsTest : public QObject {
    Q_OBJECT

    StartedBroker* broker_ = nullptr;

    QString uri(const QString& user = "guest") const {
        return QString("amqp://%1@127.0.0.1:%2/").arg(user).arg(broker_->port());
    }
    Outcome publish(const QStringList& arguments, const QByteArray& input = {}) const {
        return outcomeOf({QStringList{"publish", "--uri", uri()} + arguments, {}, input});
    }
    Outcome consume(const QStringList& arguments) const {
        return outcomeOf({QStringList{"consume", "--uri", uri()} + arguments});
    }

  private slots:
    void initTestCase() {
        broker_ = new StartedBroker;
        VERIFY_READY(*broker_);
    }
    void cleanupTestCase() { delete broker_; }

    void statusTellsWhoRunsWhere() {
        const QString data = QString::fromStdString(broker_->process.dataDirectory());
        const Outcome text = outcomeOf({{"status", "--data", data}});
        QCOMPARE(text.code, 0);
        QVERIFY2(text.out.contains(QString::number(broker_->pid())) &&
                     text.out.contains(QString::fromStdString(broker_->process.address())) &&
                     text.out.contains("AMQP 0-9-1 answers"),
                 qPrintable(text.out));
        const Outcome json = outcomeOf({{"status", "--data", data, "--json"}});
        QCOMPARE(json.code, 0);
        const QJsonObject said = QJsonDocument::fromJson(json.out.toUtf8()).object();
        QCOMPARE(said["pid"].toInt(), static_cast<int>(broker_->pid()));
        const QJsonObject listener = said["listeners"].toArray().first().toObject();
        QCOMPARE(listener["uri"].toString(),
                 QString::fromStdString("amqp://" + broker_->process.address()));
        QCOMPARE(listener["amqp"].toBool(), true);
    }

    void statusOfAStoppedServerIsUnreachable() {
        StartedBroker other;
        VERIFY_READY(other);
        const QString data = QString::fromStdString(other.process.dataDirectory());
        QCOMPARE(QString::fromStdString(other.process.stop()), QString());
        const Outcome outcome = outcomeOf({{"status", "--data", data}});
        QCOMPARE(outcome.code, kUnreachable);
        QVERIFY2(outcome.error.contains("millrace serve --data " + data),
                 qPrintable(outcome.error));
        QCOMPARE(outcome.out, QString());
    }

    void whatIsPublishedIsConsumedInOrder() {
        const Outcome sent = publish({"--declare", "-q", "order", "one", "two", "three"});
        QCOMPARE(sent.code, 0);
        QVERIFY2(sent.error.contains("published 3 of 3"), qPrintable(sent.error));
        QCOMPARE(sent.out, QString());
        const Outcome first = consume({"order", "-n", "1"});
        QCOMPARE(first.code, 0);
        QCOMPARE(first.out, QString("one\n"));
        const Outcome rest = consume({"order"});
        QCOMPARE(rest.out, QString("two\nthree\n"));
        const Outcome none = consume({"order"});
        QCOMPARE(none.code, 0);
        QCOMPARE(none.out, QString());
    }

    void bodiesComeFromStandardInputFilesAndLines() {
        QCOMPARE(publish({"--declare", "-q", "bodies"}, "from\nstandard input").code, 0);
        QCOMPARE(consume({"bodies"}).out, QString("from\nstandard input\n"));
        QCOMPARE(publish({"-q", "bodies", "--lines", "--file", "-"}, "a\nb\nc\n").code, 0);
        QCOMPARE(consume({"bodies"}).out, QString("a\nb\nc\n"));
        QCOMPARE(publish({"-q", "bodies", "-n", "3", "again"}).code, 0);
        QCOMPARE(consume({"bodies"}).out, QString("again\nagain\nagain\n"));
        const Outcome missing = publish({"-q", "bodies", "--file", "/no/such/file"});
        QCOMPARE(missing.code, kNoInput);
        QVERIFY(missing.error.contains("/no/such/file"));
    }

    void lookingGivesEverythingBackWithItsProperties() {
        QCOMPARE(publish({"--declare", "-q", "looked", "-H", "app=web", "--prop",
                          "content_type=text/plain", "hello"})
                     .code,
                 0);
        for (int i = 0; i < 2; ++i) {
            const Outcome seen = consume({"looked", "--requeue", "--json"});
            QCOMPARE(seen.code, 0);
            const QJsonObject message = QJsonDocument::fromJson(seen.out.toUtf8()).object();
            QCOMPARE(message["body"].toString(), QString("hello"));
            QCOMPARE(message["content_type"].toString(), QString("text/plain"));
            QCOMPARE(message["headers"].toObject()["app"].toString(), QString("web"));
            QCOMPARE(message["delivery_mode"].toInt(), 2);
            QCOMPARE(message["redelivered"].toBool(), i != 0);
        }
    }

    void whatNoQueueTakesIsAnError() {
        const Outcome lost = publish({"-q", "no such queue", "hello"});
        QCOMPARE(lost.code, kFailed);
        QVERIFY2(lost.error.contains("published 0 of 1") && lost.error.contains("--declare"),
                 qPrintable(lost.error));
        QCOMPARE(publish({"-q", "no such queue", "--no-mandatory", "hello"}).code, 0);
    }

    void whatCannotBeDoneHasItsExitCode() {
        const Outcome missing = consume({"no such queue"});
        QCOMPARE(missing.code, kFailed);
        QVERIFY2(missing.error.contains("no queue 'no such queue'"), qPrintable(missing.error));
        QCOMPARE(consume({}).code, kUsage);
        QCOMPARE(publish({"hello"}).code, kUsage);
        QCOMPARE(publish({"-q", "q", "-x", "amq.topic", "hello"}).code, kUsage);
        QCOMPARE(publish({"-q", "q", "--prop", "contenttype=x", "hello"}).code, kBadData);
        QCOMPARE(publish({"-x", "no such exchange", "-k", "k", "hello"}).code, kFailed);
    }

    void aWrongLoginIsItsOwnExitCode() {
        const Outcome wrong = outcomeOf(
            {{"publish", "--uri", uri(), "-q", "q", "hello"}, {"MILLRACE_PASSWORD=wrong"}});
        QCOMPARE(wrong.code, kBadLogin);
        const Outcome right = outcomeOf({{"publish", "--declare", "-q", "logged in", "hello"},
                                         {"MILLRACE_URI=" + uri(), "MILLRACE_PASSWORD=guest"}});
        QCOMPARE(right.code, 0);
        const Outcome nobody = outcomeOf({{"publish", "--uri", uri("nobody"), "-q", "q", "x"}});
        QCOMPARE(nobody.code, kBadLogin);
    }

    void nobodyThereIsUnreachable() {
        const QString nowhere = QString("amqp://127.0.0.1:%1/").arg(support::freePort());
        QCOMPARE(outcomeOf({{"consume", "--uri", nowhere, "q"}}).code, kUnreachable);
        QCOMPARE(outcomeOf({{"publish", "--uri", nowhere, "-q", "q", "x"}}).code, kUnreachable);
    }

    void aServerThatGoesAwayMeanwhileLeavesAPart() {
        StartedBroker mortal;
        VERIFY_READY(mortal);
        const QString there = QString("amqp://127.0.0.1:%1/").arg(mortal.port());
        QProcess publisher;
        publisher.start(MILLRACE_PROGRAM, {"publish", "--uri", there, "--declare", "-q", "part",
                                           "--lines", "--file", "-"});
        QVERIFY(publisher.waitForStarted());
        for (int i = 0; i < 3'000; ++i) { // more than go unconfirmed
            publisher.write("line\n");
        }
        const auto hasCome = [&] {
            Session session = mortal.session();
            auto part = session->declareQueue("part", {.passive = true});
            return part.ok() && part->messages >= 1'000;
        };
        QVERIFY(QTest::qWaitFor(hasCome, 20'000));
        mortal.process.killNow();
        publisher.write("line\n");
        publisher.closeWriteChannel();
        QVERIFY(publisher.waitForFinished(20'000));
        QCOMPARE(publisher.exitCode(), kPartly);
    }
};

QTEST_GUILESS_MAIN(VerbsTest)
#include "tst_verbs.moc"
