// SPDX-License-Identifier: Apache-2.0
// How a channel asks and tells: the two shapes of every method it sends. Included by the channel's
// own sources only.
#pragma once

#include "client/amqp_channel.h"
#include "client/amqp_client.h"

namespace millrace::client {

// Sends and waits for the reply, or for the broker to close the channel instead.
template <typename Ok, typename Other, typename M>
base::Status AmqpChannel::request(const M& method) {
    if (base::Status ready = usable(); !ready) {
        return ready;
    }
    if (base::Status done = client_.request<Ok, Other>(number_, method, reply_,
                                                       [this] { return closed_.has_value(); });
        !done) {
        return done;
    }
    if (reply_.waiting()) { // what came instead is the end of the channel
        reply_.forget();
        return usable();
    }
    return {};
}

// Sends what is not answered; it leaves with the next flush or wait.
template <typename M> base::Status AmqpChannel::tell(const M& method) {
    if (base::Status ready = usable(); !ready) {
        return ready;
    }
    client_.send(number_, method);
    return client_.makeRoom();
}

} // namespace millrace::client
