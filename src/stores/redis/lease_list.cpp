#include "stores/redis/lease_list.hpp"

#include <algorithm>
#include <utility>

#include "stores/redis/hot/glob.hpp"
#include "stores/redis/queue/lease_messages.hpp"

namespace herdlock::redis {
namespace {

struct scanned {
  std::string cursor;
  std::vector<std::string> keys;
};

struct scan_message {
  using value_type = scanned;
  static constexpr std::string_view verb = "list";
  static constexpr bool for_this_server = true;
  std::shared_ptr<lease_source const> from;
  std::string cursor;

  std::string_view name() const { return "leases"; }
  void encode(command_writer& out, script_form form) const {
    std::string const pattern = escape_glob(from->prefix) + "*";
    out.begin(lease_scripts().list, form);
    out.add(cursor);
    out.add_number(keys_per_scan);
    out.add(pattern);
    out.add(from->mark == lease_mark::owner_token ? "1" : "0");
    out.end();
  }
  result<scanned> parse(reply const& answer) const {
    if (answer.kind() != reply_kind::list || answer.nodes() < 2) return unexpected_reply(name());
    scanned found{std::string(answer.text(1)), {}};
    for (std::size_t i = 2; i < answer.nodes(); ++i) found.keys.emplace_back(answer.text(i));
    return found;
  }
};

// Where a list goes on: at which server (behind the last one: nowhere), from where in its keys, and
// what is found already, since a SCAN may bring more than a page takes.
//   INDEX SCAN-CURSOR DIGEST-OF-SERVERS,LENGTH:KEY LENGTH:KEY…
struct position {
  std::size_t server = 0;
  std::string scan = "0";
  std::uint64_t digest = 0;
  std::vector<std::string> keys{};
};

std::string to_text(position const& at) {
  std::string out =
      std::to_string(at.server) + " " + at.scan + " " + std::to_string(at.digest) + ",";
  for (auto const& key : at.keys) out += std::to_string(key.size()) + ":" + key;
  return out;
}

std::optional<position> from_text(std::string_view text) {
  auto const server = take_number<std::size_t>(text, ' ');
  auto const scan = server ? take_number<std::uint64_t>(text, ' ') : std::nullopt;
  auto const digest = scan ? take_number<std::uint64_t>(text, ',') : std::nullopt;
  if (!digest) return std::nullopt;
  position at{*server, std::to_string(*scan), *digest};
  while (!text.empty()) {
    auto const length = take_number<std::size_t>(text, ':');
    if (!length || *length > text.size()) return std::nullopt;
    at.keys.emplace_back(text.substr(0, *length));
    text.remove_prefix(*length);
  }
  return at;
}

using page_operation = stores::operation<lease_page>;

// One part on its way.
class walk : public std::enable_shared_from_this<walk> {
 public:
  walk(std::shared_ptr<lease_source const> from, std::shared_ptr<page_operation> one,
       list_request asked)
      : from_(std::move(from)), one_(std::move(one)), asked_(std::move(asked)) {
    most_ = page_size(asked_);
    if (from_->inspected) most_ = std::min(most_, limits::max_listed);
  }

  void begin() {
    servers_ = from_->servers();
    if (!servers_.empty()) return go();
    from_->inspect(resource("herdlock"),
                   [self = shared_from_this()](result<std::optional<lease_info>> const& known) {
                     if (!known) return self->one_->complete(known.error());
                     self->servers_ = self->from_->servers();
                     self->go();
                   });
  }

 private:
  // Of what a cursor is good for: these servers and keys; in the middle of a SCAN this connection,
  // since a server that was restarted has them in another order.
  std::uint64_t digest() const {
    std::string all = from_->prefix + "\n";
    for (auto const& each : servers_) {
      all += each->how().address() + "/" + std::to_string(each->how().database) + "\n";
    }
    if (at_.scan != "0") all += std::to_string(servers_[at_.server]->connections());
    return std::hash<std::string>{}(all);
  }

  // What is wrong with the cursor.
  errc go_on_from_cursor() {
    auto read = from_text(asked_.cursor);
    if (!read || read->server > servers_.size()) return errc::invalid_value;
    at_ = std::move(*read);
    if (at_.server == servers_.size() && at_.scan != "0") return errc::invalid_value;
    bool const ours = std::ranges::all_of(
        at_.keys, [this](auto const& key) { return key.starts_with(from_->prefix); });
    if (!ours) return errc::invalid_value;
    return at_.digest == digest() ? errc{} : errc::unavailable;
  }

  void go() {
    if (one_->completed()) return;
    if (servers_.empty()) return one_->fail(errc::unavailable, "too few servers are connected");
    auto const wrong = asked_.cursor.empty() ? errc{} : go_on_from_cursor();
    if (wrong == errc::invalid_value)
      return one_->fail(wrong, "the cursor is not one of this list");
    if (wrong == errc::unavailable) {
      return one_->fail(wrong,
                        "which servers there are has changed since the list was begun; begin it "
                        "anew");
    }
    if (at_.keys.size() >= most_ || at_.server == servers_.size()) return complete();
    connection& server = *servers_[at_.server];
    operation<scan_message>::start(
        server, scan_message{from_, at_.scan},
        [self = shared_from_this()](result<scanned> found) { self->on_scanned(std::move(found)); });
  }

  void on_scanned(result<scanned> found) {
    if (!found) return one_->complete(found.error());
    at_.scan = std::move(found->cursor);
    if (at_.scan == "0") ++at_.server;
    for (auto& key : found->keys) at_.keys.push_back(std::move(key));
    complete();
  }

  void complete() {
    lease_page page;
    auto const taken = std::min(most_, at_.keys.size());
    for (std::size_t i = 0; i < taken; ++i) {
      auto name = resource::parse(std::string_view(at_.keys[i]).substr(from_->prefix.size()));
      if (name) page.names.push_back(*std::move(name));
    }
    at_.keys.erase(at_.keys.begin(), at_.keys.begin() + static_cast<std::ptrdiff_t>(taken));
    if (at_.server < servers_.size() || !at_.keys.empty()) {
      at_.digest = digest();  // now: who a Sentinel's master is, is known by the answer
      page.cursor = to_text(at_);
    }
    if (!from_->inspected || page.names.empty()) return one_->complete(std::move(page));
    inspect_all(std::move(page));
  }

  void inspect_all(lease_page page) {
    page_.cursor = std::move(page.cursor);
    open_ = page.names.size();
    for (auto& name : page.names) {
      auto on_reply = [self = shared_from_this(),
                       name](result<std::optional<lease_info>> const& known) {
        if (!known) return self->one_->complete(known.error());
        if (*known) self->page_.names.push_back(name);
        if (--self->open_ == 0) self->one_->complete(std::move(self->page_));
      };
      from_->inspect(std::move(name), std::move(on_reply));
    }
  }

  std::shared_ptr<lease_source const> from_;
  std::shared_ptr<page_operation> one_;
  list_request asked_;
  std::size_t most_;
  std::vector<std::shared_ptr<connection>> servers_;
  position at_;
  lease_page page_;
  std::size_t open_ = 0;
};

}  // namespace

// A little more time than the server's command has, whose failure says more: whether it connected.
lease_list::lease_list(asio::any_io_executor const& executor, lease_source from)
    : pending_(std::make_shared<stores::pending_operations>(
          executor, stores::pending_settings{.store = from.store,
                                             .late = "no answer within " + in_ms(from.timeout) +
                                                     "; is a server overloaded, or unreachable?",
                                             .timeout = from.timeout + from.timeout / 20})),
      from_(std::make_shared<lease_source const>(std::move(from))) {}

lease_list::~lease_list() {
  asio::post(pending_->executor(), [pending = pending_] { pending->close(); });
}

void lease_list::part(list_request request, handler<lease_page> done) {
  auto const one = pending_->begin("list", "leases", std::move(done));
  if (!one) return;
  if (from_->mark == lease_mark::prefix && from_->prefix.empty()) {
    return one->complete_later(one->failure_of(
        errc::not_supported,
        "a dialect's leases are keys like any other; give them a prefix of their own (prefix=…, in "
        "all clients)"));
  }
  asio::post(pending_->executor(),
             [step = std::make_shared<walk>(from_, one, std::move(request))] { step->begin(); });
}

lease_source leases_at(std::shared_ptr<router> const& commands) {
  lease_source from{commands->how().display_name, commands->how().timeout};
  from.servers = [commands] { return commands->servers(); };
  from.inspect = [commands](resource name, handler<std::optional<lease_info>> done) {
    operation<inspect_message>::start(*commands, inspect_message{std::move(name)}, std::move(done));
  };
  return from;
}

lease_source leases_of_dialect(std::shared_ptr<connection> const& commands) {
  lease_source from{commands->how().display_name, commands->how().timeout};
  from.mark = lease_mark::prefix;
  from.prefix = commands->how().prefix;
  from.servers = [commands] { return commands->servers(); };
  return from;
}

}  // namespace herdlock::redis
