// Servers that ask for our certificate, and a handle whose files are replaced one after the other
// while its connections are cut.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <support/etcd_server.hpp>
#include <support/eventually.hpp>
#include <support/redis_server.hpp>
#include <support/relay.hpp>
#include <support/temp_dir.hpp>
#include <support/tls_files.hpp>

namespace herdlock_test {

inline std::string content_of(std::filesystem::path const& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// In one step, as who rotates files does it: a new file takes the name. Only its owner reads it.
inline void put_file(std::filesystem::path const& at, std::string const& content) {
  auto const beside = std::filesystem::path(at).concat(".new");
  std::ofstream(beside, std::ios::binary | std::ios::trunc) << content;
  std::filesystem::permissions(beside, std::filesystem::perms(0600));
  std::filesystem::rename(beside, at);
}

/// What a URL says of them.
struct client_files {
  std::filesystem::path authority, certificate, key;
};

/// Servers of one kind.
class rotated_servers {
 public:
  virtual ~rotated_servers() = default;

  /// Of the handle whose files are replaced; without these.
  virtual std::string url() = 0;
  virtual std::string options(client_files const& use) {
    return "&cafile=" + use.authority.string() + "&cert=" + use.certificate.string() +
           "&key=" + use.key.string();
  }
  /// Of one that holds: where there is a relay it is not behind it.
  virtual std::string holder() { return url(); }
  /// Ends the connections of the handle.
  virtual void cut() = 0;
  /// It has tried to connect again since then.
  virtual bool is_back() = 0;
  /// From now on only the new certificate is taken, where the servers can be told so.
  virtual void take_only_new() {}
  /// From now on they show a certificate of the second authority.
  virtual void show_new() {}

  client_files first;   ///< what the handle has at first
  client_files second;  ///< what it gets
};

inline std::string at(std::string const& scheme, std::uint16_t port) {
  return scheme + "://127.0.0.1:" + std::to_string(port);
}

/// Two authorities, and one file that names both.
class two_authorities {
 public:
  two_authorities() {
    std::filesystem::create_directories(folder_ / "first");
    std::filesystem::create_directories(folder_ / "second");
    first = make_tls_files(folder_ / "first");
    second = make_tls_files(folder_ / "second");
    both = folder_ / "both.pem";
    trusted = folder_ / "trusted.pem";
    for (auto const& file : {both, trusted}) {
      put_file(file, content_of(first.authority) + content_of(second.authority));
    }
    server_side = first;
    server_side.authority = trusted;
  }

  void give_to(std::vector<std::string> const& users) {
    for (auto const& at : {folder_.path(), folder_ / "first", folder_ / "second"}) {
      give_tls_files_to(at, users);
    }
  }
  void use_in(rotated_servers& servers) const {
    servers.first = {first.authority, first.client_certificate, first.client_key};
    servers.second = {second.authority, second.client_certificate, second.client_key};
  }
  // In place: a server that runs as another user can read them still.
  void forget_first() const { std::ofstream(trusted) << content_of(second.authority); }
  void show_second() const {
    std::ofstream(first.server_certificate) << content_of(second.server_certificate);
    std::ofstream(first.server_key) << content_of(second.server_key);
  }

  tls_files first, second, server_side;
  std::filesystem::path trusted;  ///< by the servers
  std::filesystem::path both;

 private:
  temp_dir folder_;
};

/// Redis servers, whose connections of herdlock are known by their names.
class rotated_redis : public rotated_servers {
 public:
  void cut() override {
    for (auto* const one : servers()) {
      killed_[one] = connections(*one);
      for (auto const& id : killed_[one]) one->cli("CLIENT KILL ID " + id);
    }
  }
  bool is_back() override {
    return std::ranges::all_of(waited_for(), [this](auto* one) { return is_back_at(*one); });
  }

 protected:
  virtual std::vector<redis_server*> servers() = 0;
  /// Where each connection that was cut has another after it.
  virtual std::vector<redis_server*> waited_for() { return servers(); }

 private:
  static std::set<std::string> connections(redis_server const& one) {
    std::set<std::string> ids;
    std::istringstream lines(one.cli("CLIENT LIST"));
    for (std::string line; std::getline(lines, line);) {
      bool const ours = line.find(" name=herdlock ") != line.npos;
      if (ours) ids.insert(line.substr(3, line.find(' ') - 3));
    }
    return ids;
  }
  bool is_back_at(redis_server& one) {
    auto const now = connections(one);
    auto const& killed = killed_[&one];
    bool const all_new =
        std::ranges::none_of(now, [&](auto const& id) { return killed.contains(id); });
    return all_new && now.size() >= killed.size();
  }

  std::map<redis_server*, std::set<std::string>> killed_;
};

/// Any other server, behind a relay.
class rotated_behind_relay : public rotated_servers {
 public:
  void cut() override {
    before_ = wire().connections_ever();
    wire().cut_all();
  }
  bool is_back() override { return wire().connections_ever() >= before_ + tries(); }

 protected:
  virtual relay& wire() = 0;
  /// New connections that show that it has tried and failed, where it fails.
  virtual std::size_t tries() const { return 1; }

 private:
  std::size_t before_ = 0;
};

class etcd_with_files : public rotated_behind_relay {
 public:
  etcd_with_files() {
    files_.use_in(*this);
    member_.use_tls({"--cert-file=" + files_.first.server_certificate.string(),
                     "--key-file=" + files_.first.server_key.string(), "--client-cert-auth",
                     "--trusted-ca-file=" + files_.trusted.string()},
                    files_.second);
    start();
  }
  std::string url() override { return through(wire_.port()); }
  std::string holder() override { return through(member_.port()); }
  void take_only_new() override {
    files_.forget_first();
    files_.show_second();  // its gateway is a client of its own, with this certificate
    member_.kill();
    start();
  }
  void show_new() override { files_.show_second(); }  // it reads them for each connection

 protected:
  std::uint16_t port() const { return member_.port(); }

 private:
  static std::string through(std::uint16_t port) { return at("etcds", port) + "?timeout=5s"; }
  void start() {
    member_.start("default=" + at("http", member_.peer_port()));
    EXPECT_TRUE(eventually([&] { return member_.answers(); })) << member_.errors();
  }
  relay& wire() override { return wire_; }
  std::size_t tries() const override { return 2; }

  two_authorities files_;
  etcd_member member_{"default"};
  relay wire_{member_.port()};
};

/// Three addresses, of which one is used at first.
class etcd_at_three_addresses final : public etcd_with_files {
 public:
  std::string url() override {
    std::string hosts;
    for (auto const& each : wires_) hosts += ",127.0.0.1:" + std::to_string(each.port());
    return "etcds://" + hosts.substr(1) + "?timeout=5s";
  }
  void cut() override {
    before_ = ever();
    for (auto& each : wires_) each.cut_all();
  }
  bool is_back() override { return ever() >= before_ + 6; }

 private:
  std::size_t ever() const {
    std::size_t sum = 0;
    for (auto const& each : wires_) sum += each.connections_ever();
    return sum;
  }

  std::array<relay, 3> wires_{relay(port()), relay(port()), relay(port())};
  std::size_t before_ = 0;
};

/// A kind of store; `make` starts its servers.
struct rotation_case {
  std::string name;
  std::function<std::unique_ptr<rotated_servers>()> make;
  bool keeps_last = false;   ///< the last files that worked are used while the new ones do not fit
  bool keeps_leases = true;  ///< a lease outlives its connection
};

inline void PrintTo(rotation_case const& kind, std::ostream* out) { *out << kind.name; }

}  // namespace herdlock_test
