#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <support/etcd_server.hpp>
#include <support/free_port.hpp>

namespace herdlock_test {
namespace {

std::string at(std::uint16_t port) { return "http://127.0.0.1:" + std::to_string(port); }

std::vector<std::string> server_side(etcd_tls how, tls_files const& files) {
  bool const wrong_name = how == etcd_tls::on_with_wrong_name;
  auto const& certificate = wrong_name ? files.wrong_name_certificate : files.server_certificate;
  auto const& key = wrong_name ? files.wrong_name_key : files.server_key;
  std::vector<std::string> all{"--cert-file=" + certificate.string(), "--key-file=" + key.string()};
  if (how == etcd_tls::on_with_client_certificates) {
    all.push_back("--client-cert-auth");
    all.push_back("--trusted-ca-file=" + files.authority.string());
  }
  return all;
}

bool all_answer(etcd_member& one) {
  return eventually([&] { return !one.running() || one.answers(); }) && one.running();
}

}  // namespace

etcd_member::etcd_member(std::string name, std::vector<std::string> more)
    : name_(std::move(name)),
      more_(std::move(more)),
      port_(ports_.add()),
      peer_port_(ports_.add()) {}

void etcd_member::use_tls(std::vector<std::string> const& arguments, tls_files const& files) {
  tls_ = files;
  more_.insert(more_.end(), arguments.begin(), arguments.end());
}

std::string etcd_member::client_url() const {
  return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_);
}

void etcd_member::start(std::string const& cluster) {
  child_.reset();
  child_options how;
  how.argv = {find_program("etcd", "etcd-server"),
              "--name=" + name_,
              "--data-dir=" + folder_.path().string(),
              "--listen-client-urls=" + client_url(),
              "--advertise-client-urls=" + client_url(),
              "--listen-peer-urls=" + at(peer_port_),
              "--initial-advertise-peer-urls=" + at(peer_port_),
              "--initial-cluster=" + cluster,
              "--heartbeat-interval=30",
              "--election-timeout=300",
              "--unsafe-no-fsync",  // what a test waits for is not the disk
              "--log-level=error"};
  how.argv.insert(how.argv.end(), more_.begin(), more_.end());
  child_.emplace(std::move(how));
}

bool etcd_member::answers() const {
  try {
    ctl({"get", "herdlock-test-start"});
    return true;
  } catch (std::runtime_error const& e) {
    // With users it answers too.
    return std::string(e.what()).find("user name is empty") != std::string::npos;
  }
}

void etcd_member::kill() { child_->kill(); }

child_options etcd_member::ctl_process(std::vector<std::string> const& arguments) const {
  child_options how;
  how.argv = {find_program("etcdctl", "etcd-client"), "--endpoints=" + client_url(),
              "--dial-timeout=1s", "--command-timeout=2s"};
  if (tls_) {
    // Whatever the server's name: it is our own.
    how.argv.insert(how.argv.end(), {"--insecure-skip-tls-verify", "--insecure-transport=false",
                                     "--cert=" + tls_->client_certificate.string(),
                                     "--key=" + tls_->client_key.string()});
  }
  how.argv.insert(how.argv.end(), arguments.begin(), arguments.end());
  how.env = {{"ETCDCTL_API", "3"}};
  return how;
}

std::string etcd_member::ctl(std::vector<std::string> const& arguments) const {
  return run_command(ctl_process(arguments));
}

etcd_server::etcd_server(std::vector<std::string> more, etcd_tls how)
    : member_("default", std::move(more)) {
  if (how != etcd_tls::off) {
    auto const files = make_tls_files(member_.certificates());
    member_.use_tls(server_side(how, files), files);
  }
  for (int i = 0; i < start_attempts; ++i) {
    start();
    if (all_answer(member_)) return;
  }
  throw std::runtime_error("etcd does not start:\n" + member_.errors());
}

etcd_server& etcd_server::shared() {
  static etcd_server server;
  return server;
}

void etcd_server::start() { member_.start("default=" + at(member_.peer_port())); }

void etcd_server::flush() { member_.ctl({"del", "", "--prefix"}); }

std::vector<std::string> etcd_server::leases() const {
  std::istringstream list(member_.ctl({"lease", "list"}));
  std::string line;
  std::getline(list, line);  // "found … leases"
  std::vector<std::string> ids;
  while (list >> line) ids.push_back(line);
  return ids;
}

void etcd_server::revoke(std::string const& lease) {
  try {
    member_.ctl({"lease", "revoke", lease});
  } catch (std::runtime_error const& why) {
    if (std::string_view(why.what()).find("requested lease not found") == std::string_view::npos)
      throw;
  }
}

void etcd_server::revoke_all_leases() {
  for (auto const& lease : leases()) revoke(lease);
}

void etcd_server::restart() {
  member_.kill();
  start();
  if (!all_answer(member_)) throw std::runtime_error("etcd does not restart:\n" + member_.errors());
}

double etcd_member::metric(std::string const& name) const {
  child_options how;
  how.argv = {find_program("curl", "curl"), "--silent", "--fail", at(port()) + "/metrics"};
  std::string const all = "\n" + run_command(std::move(how));
  auto const found = all.find("\n" + name + " ");
  if (found == all.npos) throw std::runtime_error("no metric " + name);
  return std::strtod(all.c_str() + found + name.size() + 2, nullptr);
}

etcd_cluster::etcd_cluster() {
  for (char const* name : {"m1", "m2", "m3"}) {
    members_.push_back(std::make_unique<etcd_member>(name));
    names_ +=
        (names_.empty() ? "" : ",") + std::string(name) + "=" + at(members_.back()->peer_port());
  }
  for (auto const& one : members_) one->start(names_);
  for (auto const& one : members_) {
    if (!all_answer(*one)) throw std::runtime_error("etcd does not start:\n" + one->errors());
  }
}

std::string etcd_cluster::url() const {
  std::string text;
  for (auto const& one : members_) {
    text += (text.empty() ? "etcd://" : ",") + ("127.0.0.1:" + std::to_string(one->port()));
  }
  return text;
}

// A line of its status for each member; the ninth field but one tells the leader.
std::size_t etcd_cluster::leader() const {
  std::size_t found = members_.size();
  eventually([&] {
    for (std::size_t i = 0; i < members_.size() && found == members_.size(); ++i) {
      try {
        std::string const status = members_[i]->ctl({"endpoint", "status"});
        if (status.find(", true, false,") != status.npos) found = i;
      } catch (std::runtime_error const&) {
        continue;  // this one is down
      }
    }
    return found < members_.size();
  });
  if (found == members_.size()) throw std::runtime_error("the etcd cluster has no leader");
  return found;
}

void etcd_cluster::restart(std::size_t index) {
  members_[index]->start(names_);
  if (!all_answer(*members_[index])) throw std::runtime_error("an etcd member does not restart");
}

}  // namespace herdlock_test
