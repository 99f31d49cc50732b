// SPDX-License-Identifier: Apache-2.0
// Random commands on exchanges, queues and bindings, restarts among them: the routing table does
// what a naive oracle says.
#include "model/routing_model.h"

#include "support/random.h"
#include "support/seed.h"

#include <QTemporaryDir>
#include <QtTest>

#include <iterator>

using namespace millrace;
using namespace millrace::model;

namespace {

// Few names and words, so that everything meets everything.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : random_(seed) {}

    bool chance(unsigned percent) { return random_.chance(percent); }
    std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
    std::string exchange() {
        static const std::vector<std::string> kFixed{"",          "amq.direct",  "amq.fanout",
                                                     "amq.topic", "amq.headers", "amq.nope"};
        return chance(30) ? kFixed[below(kFixed.size())] : "x" + std::to_string(below(8));
    }
    std::string queue() { return "q" + std::to_string(below(8)); }
    ExchangeModel exchangeModel() {
        static const std::vector<std::string> kTypes{"direct", "fanout", "topic", "headers"};
        ExchangeModel out;
        out.type = kTypes[below(kTypes.size())];
        out.durable = chance(70);
        out.autoDelete = chance(30);
        out.alternate = chance(30) ? "x" + std::to_string(below(8)) : "";
        return out;
    }
    std::string key() { return words({"a", "b", ""}); }
    Headers headers(bool pattern) {
        static const std::vector<std::string> kModes{"", "all", "any", "all-with-x", "any-with-x"};
        Headers out;
        out.mode = pattern ? kModes[below(kModes.size())] : "";
        for (const char* name : {"a", "b", "x-c"}) {
            if (chance(40)) {
                out.values[name] = static_cast<int>(below(2));
            }
        }
        return out;
    }
    BindingModel binding() {
        BindingModel out;
        out.source = exchange();
        out.toExchange = chance(35);
        out.destination = out.toExchange ? exchange() : queue();
        out.key = chance(30) ? queue() : words({"a", "b", "", "*", "#"});
        if (chance(40)) {
            out.arguments = headers(true);
        }
        return out;
    }
    Message message() {
        Message out;
        out.keys.push_back(chance(20) ? queue() : key());
        while (chance(20)) {
            out.keys.push_back(chance(50) ? queue() : key());
        }
        out.headers = headers(false);
        return out;
    }

  private:
    std::string words(const std::vector<std::string>& known) {
        std::string out;
        for (std::uint64_t count = below(4); count > 0; --count) {
            out += (out.empty() ? "" : ".") + known[below(known.size())];
        }
        return out;
    }

    support::Random random_;
};

bool step(RoutingModel& model, Dice& dice) {
    const std::uint64_t verb = dice.below(100);
    if (verb < 15) {
        return model.declare(dice.exchange(), dice.exchangeModel());
    }
    if (verb < 30) {
        model.addQueue(dice.queue(), dice.chance(60));
        return true;
    }
    if (verb < 70) {
        return model.bind(dice.binding());
    }
    if (verb < 85) {
        // Mostly a binding that exists.
        const auto& all = model.oracle.bindings;
        const bool known = !all.empty() && dice.chance(80);
        const BindingModel chosen =
            known ? *std::next(all.begin(), static_cast<std::ptrdiff_t>(dice.below(all.size())))
                  : dice.binding();
        return model.unbind(chosen);
    }
    if (verb < 91) {
        return model.remove(dice.exchange(), dice.chance(50));
    }
    if (verb < 97) {
        model.removeQueue(dice.queue());
        return true;
    }
    return verb == 97 ? model.restart() : verb == 98 || model.store();
}

} // namespace

class RoutingModelTest : public QObject {
    Q_OBJECT

  private slots:
    void routingDoesWhatTheOracleSays_data() {
        QTest::addColumn<quint64>("fixed");
        for (const quint64 seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
            QTest::addRow("%llu", static_cast<unsigned long long>(seed)) << seed;
        }
    }
    void routingDoesWhatTheOracleSays() {
        QFETCH(quint64, fixed);
        const support::Seed seed(fixed);
        Dice dice(seed.value());
        const QTemporaryDir folder;
        RoutingModel model(folder.filePath("catalog.db").toStdString());
        for (int i = 0; i < 2500; ++i) {
            QVERIFY2(step(model, dice),
                     qPrintable(QString("command %1 of seed %2").arg(i).arg(seed.value())));
            QVERIFY2(model.countsAgree(),
                     qPrintable(QString("after command %1 of seed %2").arg(i).arg(seed.value())));
            for (int j = 0; j < 3; ++j) {
                QVERIFY2(
                    model.routesAgree(dice.exchange(), dice.message()),
                    qPrintable(QString("after command %1 of seed %2").arg(i).arg(seed.value())));
            }
        }
    }
};

QTEST_GUILESS_MAIN(RoutingModelTest)
#include "tst_routing_model.moc"
