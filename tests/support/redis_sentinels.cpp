#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <support/redis_sentinels.hpp>

namespace herdlock_test {
namespace {

constexpr int data_servers = 3;
constexpr int sentinel_count = 3;

void must(bool reached, std::string const& what) {
  if (!reached) throw std::runtime_error("the test's sentinels: " + what);
}

// It changes nothing of its own accord.
bool rests(redis_server const& sentinel) {
  return sentinel.cli("SENTINEL MASTER mymaster").find("\nflags\nmaster\n") != std::string::npos;
}

bool is_failing_over(redis_server const& sentinel) {
  return sentinel.cli("SENTINEL MASTER mymaster").find("failover_in_progress") != std::string::npos;
}

}  // namespace

redis_sentinels::redis_sentinels(sentinels_options options) : options_(std::move(options)) {
  if (options_.tls != redis_tls::off) certificates_ = make_tls_files(folder_.path());
  for (int i = 0; i < data_servers; ++i) {
    redis_options how;
    how.tls = options_.tls;
    how.certificates = certificates_;
    how.password = options_.password;
    // Without a delay a replica joins at once, not after five seconds.
    how.arguments = {"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"};
    if (certificates_) how.arguments.insert(how.arguments.end(), {"--tls-replication", "yes"});
    if (!options_.password.empty()) {
      how.arguments.insert(how.arguments.end(), {"--masterauth", options_.password});
    }
    if (i > 0) {
      how.arguments.insert(how.arguments.end(), {"--replicaof", "127.0.0.1",
                                                 std::to_string(servers_[0]->public_port())});
    }
    how.arguments.insert(how.arguments.end(), options_.arguments.begin(), options_.arguments.end());
    servers_.push_back(std::make_unique<redis_server>(std::move(how)));
  }
  for (int i = 0; i < sentinel_count; ++i) sentinels_.push_back(make_sentinel());
  must(eventually([&] {
         for (auto const& one : sentinels_) {
           std::string const info = one->cli("INFO sentinel");
           if (info.find("slaves=2,sentinels=3") == std::string::npos) return false;
         }
         return true;
       }),
       "they do not find each other");
  await_replicas(2);
}

std::unique_ptr<redis_server> redis_sentinels::make_sentinel() {
  redis_options how;
  how.password = options_.sentinel_password;
  how.program = redis_program::sentinel;
  how.tls = options_.tls == redis_tls::on_with_wrong_name ? redis_tls::on : options_.tls;
  how.certificates = certificates_;
  auto one = std::make_unique<redis_server>(std::move(how));
  auto const ask = [&](std::string const& command) {
    auto const said = one->cli("SENTINEL " + command);
    must(said == "OK", command + ": " + said);
  };
  auto const set = [&](std::string const& key, std::string const& value) {
    ask("SET mymaster " + key + " " + value);
  };
  if (!options_.sentinel_password.empty()) {
    one->cli("SENTINEL CONFIG SET sentinel-pass " + options_.sentinel_password);
  }
  ask("MONITOR mymaster 127.0.0.1 " + std::to_string(servers_[0]->public_port()) + " 2");
  if (!options_.password.empty()) set("auth-pass", options_.password);
  set("down-after-milliseconds", std::to_string(options_.down_after.count()));
  set("failover-timeout", "3000");
  return one;
}

std::string redis_sentinels::url(std::string const& name) const {
  std::string text = certificates_ ? "rediss+sentinel://" : "redis+sentinel://";
  if (!options_.password.empty()) text += ":" + options_.password + "@";
  for (auto const& one : sentinels_) {
    if (&one != &sentinels_.front()) text += ",";
    text += "127.0.0.1:" + std::to_string(one->public_port());
  }
  text += "/" + name;
  auto const option = [&](std::string const& key, std::string const& value) {
    text += (text.find('?') == std::string::npos ? "?" : "&") + key + "=" + value;
  };
  if (!options_.sentinel_password.empty()) option("sentinel_password", options_.sentinel_password);
  if (certificates_) option("cafile", certificates_->authority.string());
  if (options_.tls == redis_tls::on_with_client_certificates) {
    option("cert", certificates_->client_certificate.string());
    option("key", certificates_->client_key.string());
  }
  return text;
}

std::uint16_t redis_sentinels::master_port(redis_server const& asked) const {
  try {
    std::istringstream lines(asked.cli("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster"));
    std::string host;
    int port = 0;
    lines >> host >> port;
    return static_cast<std::uint16_t>(port);
  } catch (std::runtime_error const&) {
    return 0;
  }
}

redis_server& redis_sentinels::master() {
  auto const port = master_port(*listening_sentinels().front());
  for (auto const& one : servers_) {
    if (one->public_port() == port) return *one;
  }
  throw std::runtime_error("the test's sentinels name no master");
}

std::vector<redis_server*> redis_sentinels::replicas() {
  std::vector<redis_server*> others;
  auto const* const first = &master();
  for (auto const& one : servers_) {
    if (one.get() != first) others.push_back(one.get());
  }
  return others;
}

void redis_sentinels::kill_master() { master().kill(); }

bool redis_sentinels::has_master_other_than(std::uint16_t port) {
  auto const now = common_master_port();
  return now != 0 && now != port && master().cli("ROLE").starts_with("master");
}

void redis_sentinels::await_master_other_than(std::uint16_t port) {
  bool const reached = eventually(3 * patience, [&] { return has_master_other_than(port); });
  must(reached, reached ? "" : "no other master:\n" + words());
}

void redis_sentinels::await_calm() {
  bool const reached = eventually(3 * patience, [&] {
    auto const all_rest =
        std::ranges::all_of(listening_sentinels(), [](auto const* one) { return rests(*one); });
    return all_rest && common_master_port() != 0;
  });
  must(reached, reached ? "" : "they do not come to rest:\n" + words());
}

// One whose clock has jumped, as that of one that was stopped, only watches for 30 s ("tilt").
void redis_sentinels::await_action() {
  must(eventually(6 * patience,
                  [&] {
                    return std::ranges::all_of(listening_sentinels(), [](auto const* one) {
                      return one->cli("INFO sentinel").find("sentinel_tilt:0") != std::string::npos;
                    });
                  }),
       "one of them only watches");
}

// 0 while they disagree.
std::uint16_t redis_sentinels::common_master_port() const {
  auto const asked = listening_sentinels();
  auto const port = master_port(*asked.front());
  for (auto const* one : asked) {
    if (master_port(*one) != port) return 0;
  }
  return port;
}

// For messages: what each sentinel thinks of the master.
std::string redis_sentinels::words() const {
  std::string all;
  for (auto const* one : listening_sentinels()) {
    try {
      all += one->cli("SENTINEL MASTER mymaster") + "\n" + one->last_words() + "\n";
    } catch (std::runtime_error const& why) {
      all += why.what() + std::string("\n");
    }
  }
  return all;
}

void redis_sentinels::failover() {
  auto const old = master().public_port();
  auto const& asked = *listening_sentinels().front();
  bool const reached = eventually(3 * patience, [&] {
    // Refused as long as the last one is not over for all of them, and given up after the
    // failover-timeout, which a loaded machine may need more than.
    if (!is_failing_over(asked) && master_port(asked) == old)
      asked.cli("SENTINEL FAILOVER mymaster");
    return has_master_other_than(old);
  });
  must(reached, reached ? "" : "no other master:\n" + words());
}

void redis_sentinels::await_replicas(int count) {
  must(eventually([&] {
         std::string const info = master().cli("INFO replication");
         int online = 0;
         for (auto at = info.find("state=online"); at != std::string::npos;
              at = info.find("state=online", at + 1)) {
           ++online;
         }
         return online >= count;
       }),
       "the replicas are not in step");
}

void redis_sentinels::rejoin(redis_server& dead) {
  dead.restart();
  auto const port = std::to_string(master().public_port());
  dead.cli("REPLICAOF 127.0.0.1 " + port);
}

void redis_sentinels::kill_sentinels() {
  for (auto const& one : sentinels_) one->kill();
}

std::vector<redis_server*> redis_sentinels::listening_sentinels() const {
  std::vector<redis_server*> some;
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    if (!silent_.contains(i)) some.push_back(sentinels_[i].get());
  }
  return some;
}

std::size_t redis_sentinels::most_listened_sentinel() const {
  std::size_t best = 0;
  int most = -1;
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    std::istringstream clients(sentinels_[i]->cli("CLIENT LIST"));
    int listeners = 0;
    for (std::string line; std::getline(clients, line);) {
      bool const ours = line.find(" name=herdlock ") != line.npos;
      if (ours && line.find(" sub=1 ") != line.npos) ++listeners;
    }
    if (std::exchange(most, std::max(most, listeners)) < most) best = i;
  }
  return best;
}

void redis_sentinels::hang_sentinel(std::size_t index) {
  silent_.insert(index);
  sentinels_[index]->pause();
}

void redis_sentinels::resume_sentinel(std::size_t index) {
  sentinels_[index]->resume();
  silent_.erase(index);
}

void redis_sentinels::lock_sentinels_out_of_the_master() {
  auto& old = master();
  old.change_password("nobody-knows-it");
  std::istringstream clients(old.cli("CLIENT LIST"));
  for (std::string line; std::getline(clients, line);) {
    if (line.find(" name=sentinel") == line.npos) continue;
    old.cli("CLIENT KILL ID " + line.substr(3, line.find(' ') - 3));
  }
}

}  // namespace herdlock_test
