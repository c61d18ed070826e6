#include "engine/call_gate.hpp"

#include <system_error>

#include "base/quiet_thread.hpp"

namespace holdfast::engine {

void call_gate::check_process() const {
  if (client_.forked()) {
    throw error{errc::forked,
                client_.url + ": this client belongs to the parent process; make a new one after fork()"};
  }
}

void call_gate::check_open() const {
  if (closed_) throw error{*client_.shut_down};
}

void call_gate::prepare() {
  check_process();
  check_open();
  if (at_first_use_ != nullptr) {
    at_first_use_();
    at_first_use_ = nullptr;
  }
  try {
    loop_.start_keeper();
  } catch (std::system_error const& failure) {
    auto const because = " (" + failure.code().message() + "), so nothing was sent";
    if (loop_.has_outer()) {
      throw error{failure.code(), client_.url + ": the client can't run on its event loop" + because};
    }
    throw error{failure.code(), client_.url + ": the thread of the client can't be started" + because + "; " +
                                    advice_about_threads};
  }
}

void call_gate::prepare_acquisition() {
  prepare();
  if (acquisitions_refused_) throw error{*client_.shut_down};
}

}  // namespace holdfast::engine
