#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <support/free_port.hpp>
#include <support/redis_cluster.hpp>

namespace herdlock_test {
namespace {

constexpr int slots = 16'384;

std::vector<std::string> lines_of(std::string const& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    while (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

std::string text_of(std::filesystem::path const& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

void must(std::string const& reply) {
  if (reply != "OK") throw std::runtime_error("the test's cluster refuses a command: " + reply);
}

}  // namespace

redis_cluster::redis_cluster(redis_cluster_options options) : options_(std::move(options)) {
  std::optional<tls_files> certificates;
  if (options_.tls != redis_tls::off) certificates = make_tls_files(folder_.path());
  for (std::size_t i = 0; i < options_.masters + options_.replicas; ++i) {
    bus_ports_.push_back(ports_.add());
    redis_options how;
    how.password = options_.password;
    how.tls = options_.tls;
    how.certificates = certificates;
    how.arguments = {"--cluster-enabled",
                     "yes",
                     "--cluster-config-file",
                     "nodes.conf",
                     "--cluster-node-timeout",
                     "2000",
                     "--cluster-port",
                     std::to_string(bus_ports_.back()),
                     "--cluster-require-full-coverage",
                     "no",
                     "--repl-diskless-sync-delay",
                     "0"};
    if (options_.tls != redis_tls::off) {
      how.arguments.insert(how.arguments.end(), {"--tls-cluster", "yes"});
    }
    if (!options_.password.empty()) {
      how.arguments.insert(how.arguments.end(), {"--masterauth", options_.password});
    }
    nodes_.push_back(std::make_unique<redis_server>(how));
    if (options_.ports == announced::own_ports) continue;
    relays_.push_back(std::make_unique<relay>(nodes_.back()->port()));
    must(node(i).cli("CONFIG SET cluster-announce-port " + std::to_string(relays_[i]->port())));
    must(node(i).cli("CONFIG SET cluster-announce-bus-port " + std::to_string(bus_ports_[i])));
  }
  join();
}

// What `redis-cli --cluster create` does, without its questions and pauses.
void redis_cluster::join() {
  int const masters = static_cast<int>(options_.masters);
  for (int i = 0; i < masters; ++i) {
    auto& one = node(static_cast<std::size_t>(i));
    must(one.cli("CLUSTER ADDSLOTSRANGE " + std::to_string(slots * i / masters) + " " +
                 std::to_string(slots * (i + 1) / masters - 1)));
    must(one.cli("CLUSTER SET-CONFIG-EPOCH " + std::to_string(i + 1)));
  }
  for (std::size_t i = 1; i < size(); ++i) {
    bool const plain = options_.tls == redis_tls::off;
    must(node(0).cli("CLUSTER MEET 127.0.0.1 " +
                     std::to_string(plain ? node(i).port() : node(i).tls_port()) + " " +
                     std::to_string(bus_ports_[i])));
  }
  wait_until_ok();
  std::string const master = id_of(options_.masters - 1);
  for (std::size_t i = options_.masters; i < size(); ++i) {
    must(node(i).cli("CLUSTER REPLICATE " + master));
    auto const in_sync = [&] {
      return node(i).cli("INFO replication").find("master_link_status:up") != std::string::npos;
    };
    if (!eventually(in_sync)) throw std::runtime_error("a replica does not find its master");
  }
}

redis_cluster& redis_cluster::shared() {
  static redis_cluster cluster;
  return cluster;
}

std::string redis_cluster::url() const {
  std::string text = "redis+cluster://";
  if (!options_.password.empty()) text += ":" + options_.password + "@";
  for (std::size_t i = 0; i < size(); ++i) {
    bool const direct = options_.ports == announced::own_ports;
    text += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") +
            std::to_string(direct ? nodes_[i]->port() : relays_[i]->port());
  }
  return text;
}

std::string redis_cluster::tls_url() const {
  std::string text = "rediss+cluster://";
  if (!options_.password.empty()) text += ":" + options_.password + "@";
  for (std::size_t i = 0; i < size(); ++i) {
    text += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(nodes_[i]->tls_port());
  }
  return text + "?cafile=" + nodes_[0]->tls().authority.string();
}

int redis_cluster::slot_of(std::string_view key) const {
  return std::stoi(nodes_[0]->command({"CLUSTER", "KEYSLOT", std::string(key)}));
}

std::size_t redis_cluster::owner_of(int slot, std::size_t asked) const {
  auto const lines = lines_of(nodes_[asked]->cli("CLUSTER SLOTS"));
  // first, last, host, port, id, …: two small numbers in front of the loopback address.
  for (std::size_t i = 2; i + 1 < lines.size(); ++i) {
    if (lines[i] != "127.0.0.1" || lines[i - 1].size() > 5 || lines[i - 2].size() > 5) continue;
    if (slot < std::stoi(lines[i - 2]) || slot > std::stoi(lines[i - 1])) continue;
    for (std::size_t n = 0; n < size(); ++n) {
      auto const port = relays_.empty() ? nodes_[n]->port() : relays_[n]->port();
      if (std::to_string(port) == lines[i + 1]) return n;
    }
  }
  throw std::runtime_error("nobody in the test's cluster serves slot " + std::to_string(slot));
}

std::size_t redis_cluster::home_of(std::string_view key) const { return owner_of(slot_of(key)); }

std::string redis_cluster::name_at(std::size_t i, std::string const& prefix) const {
  for (int n = 0; n < 1000; ++n) {
    std::string name = prefix + std::to_string(n);
    if (home_of(name) == i) return name;
  }
  throw std::runtime_error("no name for a node of the test's cluster");
}

std::string redis_cluster::id_of(std::size_t i) const { return nodes_.at(i)->cli("CLUSTER MYID"); }

void redis_cluster::move_slot(int slot, std::size_t to, std::function<void()> const& between) {
  auto const from = owner_of(slot);
  std::string const number = std::to_string(slot);
  must(node(to).cli("CLUSTER SETSLOT " + number + " IMPORTING " + id_of(from)));
  must(node(from).cli("CLUSTER SETSLOT " + number + " MIGRATING " + id_of(to)));
  between();
  for (;;) {
    auto const keys = lines_of(node(from).cli("CLUSTER GETKEYSINSLOT " + number + " 1"));
    if (keys.empty()) break;
    std::vector<std::string> command{"MIGRATE", "127.0.0.1", std::to_string(node(to).port()),
                                     keys[0],   "0",         "5000"};
    if (!options_.password.empty()) {
      command.insert(command.end(), {"AUTH", options_.password});
    }
    auto const reply = node(from).command(command);
    if (reply != "NOKEY") must(reply);
    between();
  }
  // First the one that gets it: else both of them would send clients to each other.
  must(node(to).cli("CLUSTER SETSLOT " + number + " NODE " + id_of(to)));
  must(node(from).cli("CLUSTER SETSLOT " + number + " NODE " + id_of(to)));
  auto const known = [&] { return owner_of(slot) == to; };
  if (!eventually(known)) throw std::runtime_error("a move in the test's cluster does not end");
}

std::filesystem::path redis_cluster::map_file(std::size_t i) const {
  return nodes_.at(i)->folder() / "nodes.conf";
}

void redis_cluster::fail_over() {
  auto const old = options_.masters - 1;
  auto const heir = options_.masters;
  std::string const id = id_of(old);
  node(old).kill();
  for (std::size_t i = 0; i < size(); ++i) {
    if (i == old) continue;
    auto const agrees = [&] {
      return node(i).cli("CLUSTER INFO").find("cluster_state:ok") != std::string::npos &&
             owner_of(slots - 1, i) == heir;
    };
    if (!eventually(agrees))
      throw std::runtime_error("no replica takes over in the test's cluster");
  }
  for (std::size_t i = 0; i < size(); ++i) {
    if (i != old) must(node(i).cli("CLUSTER FORGET " + id));
  }
}

// As behind a firewall that lets the clients through and not the bus between the nodes.
void redis_cluster::bring_back_cut_off(std::size_t i) {
  std::ostringstream cut;
  std::string const nowhere = "@" + std::to_string(dead_port());
  for (auto const& line : lines_of(text_of(map_file(i)))) {
    bool const other = line.find("myself") == line.npos;
    cut << (other ? std::regex_replace(line, std::regex("@[0-9]+"), nowhere) : line) << "\n";
  }
  std::ofstream(map_file(i)) << cut.str();
  node(i).restart();
  auto const alone = [&] {
    auto const lines = lines_of(node(i).cli("CLUSTER NODES"));
    auto const lost = std::ranges::count_if(lines, [](auto const& line) {
      return line.find("fail") != line.npos && line.find("master") != line.npos;
    });
    return lost + 1 >= static_cast<long>(options_.masters) &&
           node(i).cli("CLUSTER INFO").find("cluster_state:fail") != std::string::npos;
  };
  if (!eventually(alone)) {
    throw std::runtime_error("the test's node is not cut off:\n" + node(i).cli("CLUSTER NODES"));
  }
}

void redis_cluster::replace_by_stranger(std::size_t i) {
  std::filesystem::rename(map_file(i), map_file(i).string() + ".old");
  node(i).restart();
  must(node(i).cli("CLUSTER ADDSLOTSRANGE 0 " + std::to_string(slots - 1)));
  auto const serves = [&] {
    return node(i).cli("CLUSTER INFO").find("cluster_state:ok") != std::string::npos;
  };
  if (!eventually(serves)) throw std::runtime_error("the test's other cluster does not form");
}

void redis_cluster::bring_back_from_stranger(std::size_t i) {
  node(i).kill();
  std::filesystem::rename(map_file(i).string() + ".old", map_file(i));
  node(i).restart();
  wait_until_ok();
}

std::uint64_t redis_cluster::errors(std::string const& word) const {
  std::uint64_t sum = 0;
  for (auto const& one : nodes_) {
    auto const text = one->cli("INFO errorstats");
    std::string const mark = "errorstat_" + word + ":count=";
    auto const at = text.find(mark);
    if (at != std::string::npos) sum += std::stoull(text.substr(at + mark.size()));
  }
  return sum;
}

bool redis_cluster::is_ok(redis_server const& node) const {
  try {
    auto const text = node.cli("CLUSTER INFO");
    auto const says = [&](std::string const& line) { return text.find(line) != text.npos; };
    return says("cluster_state:ok") && says("cluster_slots_ok:16384") &&
           says("cluster_known_nodes:" + std::to_string(size()));
  } catch (std::runtime_error const&) {
    return false;
  }
}

void redis_cluster::wait_until_ok() const {
  for (auto const& one : nodes_) {
    if (eventually([&] { return is_ok(*one); })) continue;
    throw std::runtime_error("the test's cluster does not form:\n" + one->cli("CLUSTER INFO"));
  }
}

void redis_cluster::flush() {
  for (std::size_t i = 0; i < options_.masters; ++i) node(i).flush();
}

}  // namespace herdlock_test
