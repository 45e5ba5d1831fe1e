#include "stores/etcd/member_survey.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

namespace herdlock::etcd {
namespace {

constexpr milliseconds first_break{20};
constexpr milliseconds longest_break{250};
// For the other of two members, and for who may tell more than those that do not say.
constexpr milliseconds patience_with_the_rest{100};
// While those that answered cannot be compared, the others are asked again so often.
constexpr std::chrono::seconds look_for_others_after{1};

bool asks_for_a_user(refusal const& refused) {
  return refused.code == status::unauthenticated || refused.code == status::permission_denied ||
         refused.code == status::invalid_argument;
}

}  // namespace

member_survey::member_survey(asio::any_io_executor executor, settings how)
    : executor_(std::move(executor)),
      how_(std::move(how)),
      clusters_(how_.members.size()),
      whys_(how_.members.size()),
      asked_(how_.members.size()) {}

asio::awaitable<failure> member_survey::agree(clock::time_point deadline) {
  auto const self = shared_from_this();
  for (milliseconds pause = first_break;; pause = std::min(pause * 2, longest_break)) {
    if (clusters_.agreed() == agreement::sure) co_return failure{};
    settled_ = settled_ && usable();
    if (!settled_ || clock::now() - started_ >= look_for_others_after) start();
    if (settled_) co_return failure{};
    co_await answers(deadline);
    if (usable()) {
      settled_ = true;
      if (clusters_.agreed() == agreement::nobody_says && how_.warnings) {
        how_.warnings->add(how_.display_name +
                           ": the members do not tell of which cluster they are, so a member of "
                           "another one would be believed; check the user and its role");
      }
      co_return failure{};
    }
    failure why = why_not();
    if (why.code == errc::access_denied || clock::now() >= deadline) co_return why;
    timer rest(executor_, std::min(clock::now() + pause, deadline));
    co_await rest.async_wait(no_throw);
  }
}

// All that are not being asked yet. However an asking ends, over() is called.
void member_survey::start() {
  started_ = clock::now();
  auto const self = shared_from_this();
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    if (asked_[i]) continue;
    auto const at = std::make_shared<dialed>(dial(executor_, how_, i));
    asked_[i] = at->connection.get();
    std::shared_ptr<void> const end(nullptr, [self, at, i](void*) { self->over(i); });
    asio::co_spawn(executor_, ask_one(i, at, end), asio::detached);
  }
}

// Until most have named one cluster, or all have had their time.
asio::awaitable<void> member_survey::answers(clock::time_point deadline) {
  auto until = deadline;
  bool patient = true;
  while (asking() && clock::now() < until && clusters_.agreed() != agreement::sure) {
    if (patient && usable()) {
      patient = false;
      until = std::min(deadline, clock::now() + patience_with_the_rest);
    }
    co_await next_answer(until);
  }
}

asio::awaitable<void> member_survey::next_answer(clock::time_point until) {
  auto const mine = std::make_shared<timer>(executor_, until);
  waiting_.push_back(mine);
  co_await mine->async_wait(no_throw);
  std::erase(waiting_, mine);
}

bool member_survey::asking() const {
  return std::ranges::any_of(asked_, [](connection* one) { return one != nullptr; });
}

// Whatever the end was. When most have named one cluster, the others need not go on.
void member_survey::over(std::size_t member) {
  asked_[member] = nullptr;
  for (auto const& one : std::exchange(waiting_, {})) one->cancel();
  if (!clusters_.certain()) return;
  for (auto* one : asked_) {
    if (one) one->close();
  }
}

asio::awaitable<void> member_survey::ask_one(std::size_t member, std::shared_ptr<dialed> at,
                                             std::shared_ptr<void> /*end*/) {
  co_await ask(member, *at, clock::time_point::max());
}

asio::awaitable<failure> member_survey::admit(std::size_t member, clock::time_point deadline) {
  if (how_.members.size() == 1 || known(member)) co_return failure{};
  co_return co_await ask_again(member, deadline);
}

asio::awaitable<failure> member_survey::ask_again(std::size_t member, clock::time_point deadline) {
  auto const self = shared_from_this();
  if (how_.members.size() == 1) co_return failure{};
  dialed at = dial(executor_, how_, member);
  co_return co_await ask(member, at, deadline);
}

asio::awaitable<failure> member_survey::ask(std::size_t member, dialed& at,
                                            clock::time_point deadline) {
  auto const share = how_.timeout / static_cast<int>(how_.members.size() + 1);
  auto const until = std::min(deadline, clock::now() + share);
  http_answer answer;
  answer.ec = co_await at.connection->connect(until);
  if (!answer.ec) answer = co_await question(*at.connection, until);
  failure why;
  if (answer.ec) {
    answer.file_error = at.file_error;
    answer.verdict = at.connection->verdict();
    answer.by_etcd = has_named_one(member);
    why = failure_to_reach(how_, member, answer);
  } else {
    has_answered(how_, member);
    if (cluster_in(answer.body).empty()) clusters_.did_not_say(member);
    heard(member, answer.body);
    if (clusters_.stranger(member)) why = stranger(member);
  }
  whys_[member] = why;
  co_return why;
}

// Any client may ask for the status of most servers. Of others, the end of a lease that never is
// tells of the cluster; at last, a log-in does.
asio::awaitable<http_answer> member_survey::question(connection& at, clock::time_point until) {
  std::string const no_token;
  std::vector<std::pair<char const*, std::string>> questions;
  questions.emplace_back(path::status, "{}");
  questions.emplace_back(path::keep_alive, lease_request(0));
  if (!how_.user.empty()) {
    questions.emplace_back(path::authenticate, authenticate_request(how_.user, how_.password));
  }
  http_answer answer;
  for (auto const& one : questions) {
    http_request const request{one.first, one.second, no_token};
    answer = co_await at.exchange(request, until);
    if (answer.ec || !answer.lasts || !cluster_in(answer.body).empty()) break;
    if (!asks_for_a_user(refusal_in(answer.status, answer.body))) break;
  }
  co_return answer;
}

bool member_survey::heard(std::size_t member, std::string const& answer) {
  return clusters_.heard(member, cluster_in(answer));
}

failure member_survey::stranger(std::size_t member) const {
  return make_failure(errc::unavailable,
                      how_.members[member].text() +
                          " is a member of another cluster than the others of the URL, so it is "
                          "not believed; name members of one cluster");
}

// TLS that all refuse is told as such: asking again would not help.
failure member_survey::why_not() const {
  std::string each;
  bool denied = true;
  for (std::size_t i = 0; i < whys_.size(); ++i) {
    denied = denied && whys_[i].code == errc::access_denied;
    each += i > 0 ? ", " : "";
    if (!clusters_.of(i).empty()) {
      each += how_.members[i].text() + " (of cluster " + clusters_.of(i) + ")";
    } else if (whys_[i].code) {
      each += whys_[i].message;
    } else {
      each += how_.members[i].text() + (known(i) ? " (does not say)" : " (no answer)");
    }
  }
  return make_failure(denied ? errc::access_denied : errc::unavailable,
                      std::to_string(clusters_.named()) + " of " + std::to_string(whys_.size()) +
                          " members named their cluster, and most must name the same one before "
                          "any is believed: " +
                          each + "; start them, or name members of one cluster");
}

}  // namespace herdlock::etcd
