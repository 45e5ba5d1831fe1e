#include "stores/common/look_up.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "types/process_bound.hpp"
#include "types/quiet_thread.hpp"

namespace herdlock::stores {
namespace {

constexpr std::size_t max_known = 1024;

// Owned by those who ask and by the thread that looks, since any may be the last.
struct question {
  explicit question(std::string name) : host(std::move(name)) {}
  ~question() {
    if (done >= 0) ::close(done);
  }
  question(question const&) = delete;
  question& operator=(question const&) = delete;

  std::string const host;
  clock::time_point const begun = clock::now();
  int const done = ::eventfd(0, EFD_CLOEXEC);  ///< readable once it is answered
  std::atomic<bool> answered = false;          ///< set behind these two
  std::vector<std::string> addresses;
  int error = 0;
};

int ask_the_system(question& asked) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int const error = ::getaddrinfo(asked.host.c_str(), nullptr, &wanted, &found);
  if (error != 0) return error == EAI_SYSTEM ? EAI_FAIL : error;
  for (addrinfo const* each = found; each; each = each->ai_next) {
    char address[NI_MAXHOST];
    bool const told = ::getnameinfo(each->ai_addr, each->ai_addrlen, address, sizeof address,
                                    nullptr, 0, NI_NUMERICHOST) == 0;
    if (told) asked.addresses.emplace_back(address);
  }
  ::freeaddrinfo(found);
  return asked.addresses.empty() ? EAI_NONAME : 0;
}

// The names of this process: what is asked, and what was answered last.
class directory {
 public:
  struct state {
    std::shared_ptr<question> asked;
    std::vector<std::string> known;
  };

  state ask(std::string const& host) {
    std::lock_guard const alone(mutex_);
    if (names_.size() >= max_known) forget_idle();
    auto& name = names_[host];
    auto asked = name.asked.lock();
    if (!asked) {
      asked = std::make_shared<question>(host);
      name.asked = asked;
      if (line_.size() > names_.size()) forget_given_up();
      line_.push_back(asked);
      start_thread(*asked);
    }
    return {std::move(asked), name.known};
  }

 private:
  struct entry {
    std::weak_ptr<question> asked;  ///< waits in the line or is under way
    std::vector<std::string> known;
  };

  void forget_given_up() {
    std::erase_if(line_, [](auto const& each) { return each.expired(); });
  }

  void forget_idle() {
    std::erase_if(names_, [](auto const& each) { return each.second.asked.expired(); });
  }

  // Without one, those who are there work off the line.
  void start_thread(question& asked) {
    if (threads_ >= max_look_ups) return;
    if (detail::start_loose_thread("herdlock-dns", [this] { work(); })) ++threads_;
    if (threads_ > 0) return;
    line_.clear();
    answer(asked, names_[asked.host], EAI_SYSTEM);
  }

  void work() {
    while (auto const next = take()) {
      int const error = ask_the_system(*next);
      std::lock_guard const alone(mutex_);
      answer(*next, names_[next->host], error);
    }
  }

  // Nobody waits any more for some of those in the line.
  std::shared_ptr<question> take() {
    std::lock_guard const alone(mutex_);
    while (!line_.empty()) {
      auto first = line_.front().lock();
      line_.pop_front();
      if (first) return first;
    }
    --threads_;
    return nullptr;
  }

  static void answer(question& asked, entry& name, int error) {
    name.asked.reset();
    if (error == 0) name.known = asked.addresses;
    if (error == EAI_NONAME) name.known.clear();
    asked.error = error;
    asked.answered = true;
    ::eventfd_write(asked.done, 1);
  }

  std::mutex mutex_;
  std::map<std::string, entry> names_;
  std::deque<std::weak_ptr<question>> line_;
  std::size_t threads_ = 0;
};

bool is_address(std::string const& host) {
  boost::system::error_code ec;
  asio::ip::make_address(host, ec);
  return !ec;
}

clock::time_point last_moment(directory::state const& name, clock::time_point deadline) {
  if (name.known.empty()) return deadline;
  return std::min(deadline, name.asked->begun + look_up_patience);
}

std::string why_not(question const& asked) {
  if (!asked.answered) return "no answer in time; is the DNS server down?";
  if (asked.error == EAI_SYSTEM) return "no thread is left for it";
  return ::gai_strerror(asked.error);
}

// At the end of the wait, with or without an answer.
found_addresses outcome(directory::state const& name) {
  bool const answered = name.asked->answered;
  if (answered && name.asked->error == 0) return {name.asked->addresses, {}};
  bool const gone = answered && name.asked->error == EAI_NONAME;
  if (!gone && !name.known.empty()) return {name.known, {}};
  return {{}, "cannot resolve " + name.asked->host + ": " + why_not(*name.asked)};
}

}  // namespace

found_addresses look_up_here(std::string const& host, clock::time_point deadline, int wake) {
  if (is_address(host)) return {{host}, {}};
  auto const name = detail::per_process<directory>().ask(host);
  auto const until = last_moment(name, deadline);
  pollfd both[] = {{name.asked->done, POLLIN, 0}, {wake, POLLIN, 0}};
  int found = 0;
  do {
    auto const left = std::chrono::ceil<milliseconds>(until - clock::now()).count();
    found = ::poll(both, 2, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
  } while (found < 0 && errno == EINTR);
  return outcome(name);
}

struct look_up::waiting {
  directory::state name;
};

look_up::look_up(asio::any_io_executor const& executor, handler done)
    : executor_(executor), done_(std::move(done)), timer_(executor) {}

std::shared_ptr<look_up> look_up::start(asio::any_io_executor const& executor,
                                        std::string const& host, clock::time_point deadline,
                                        handler done) {
  auto made = std::make_shared<look_up>(executor, std::move(done));
  if (is_address(host)) {
    made->tell_later({{host}, {}});
  } else {
    made->wait(host, deadline);
  }
  return made;
}

void look_up::wait(std::string const& host, clock::time_point deadline) {
  waiting_ = std::make_shared<waiting>(waiting{detail::per_process<directory>().ask(host)});
  // A copy: each loop watches, and closes, descriptors of its own.
  int const copy = ::fcntl(waiting_->name.asked->done, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return tell_later({{}, "cannot resolve " + host + ": no file descriptor is left"});
  answered_.emplace(executor_, copy);
  auto const ended = [self = shared_from_this()](boost::system::error_code ec) {
    if (!ec) self->finish();
  };
  answered_->async_wait(asio::posix::stream_descriptor::wait_read, ended);
  timer_.expires_at(last_moment(waiting_->name, deadline));
  timer_.async_wait(ended);
}

void look_up::tell_later(found_addresses found) {
  asio::post(executor_, [self = shared_from_this(), found = std::move(found)]() mutable {
    auto const done = std::exchange(self->done_, nullptr);
    if (done) done(std::move(found));
  });
}

void look_up::finish() {
  auto const done = std::exchange(done_, nullptr);
  cancel();
  if (done) done(outcome(waiting_->name));
}

void look_up::cancel() {
  done_ = nullptr;
  answered_.reset();
  timer_.cancel();
}

}  // namespace herdlock::stores
