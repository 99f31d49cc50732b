// SPDX-License-Identifier: Apache-2.0
// Tells the service manager that started us how far we are: a datagram to $NOTIFY_SOCKET, as
// systemd documents it. Nothing if unset.
#pragma once

#include <string_view>

namespace millrace::server {

// E.g. "READY=1", "STOPPING=1". False if there is nobody to tell or it could not be told.
bool notifyServiceManager(std::string_view state);

} // namespace millrace::server
