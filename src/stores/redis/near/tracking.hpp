// Which connections of a store push changes of what is read over them, and what they push.
//
// Protocol: CLIENT TRACKING ON OPTIN over RESP3, on the connections of the commands themselves. One
// wire then has reads, their replies and the pushes in one order, and the redirections of a cluster
// need nothing of their own. Only what is read behind CLIENT CACHING YES is tracked; a push is for
// once, and the key is forgotten then.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/tracking_store.hpp>
#include "stores/redis/client/connection.hpp"

namespace herdlock::redis {

/// Of one store. All members on the executor. A server is asked to push once somebody listens.
class tracking final : public std::enable_shared_from_this<tracking> {
 public:
  tracking();
  ~tracking();

  /// Before the connection is opened.
  void add(std::shared_ptr<connection> const& wire);
  void listen(std::weak_ptr<tracking_listener> to);

  /// It is closed, and will not come up again.
  void left(connection const& wire);
  /// Asks those again that could not answer whether they push.
  void ask_again();
  /// What is read over it is not tracked, against what its server has said.
  void refuse(link_id which, failure why);

  void slot_moved(std::uint16_t slot) const;
  void slots_leaving(connection const& wire) const;

  /// Of a connection that is up and whose server has said whether it pushes.
  std::optional<link_id> link_of(connection const& wire) const;
  std::vector<link_id> all() const;
  /// A key that was read over it last: its server had the slot.
  void note_key(link_id which, std::string_view key);
  std::string key_of(link_id which) const;
  /// Null when it is not up any more.
  std::shared_ptr<connection> wire_of(link_id which) const;

 private:
  class tracked_wire;

  template <class F>
  void tell(F what) const;
  bool somebody_listens() const;
  tracked_wire* settled(link_id which) const;

  std::vector<std::shared_ptr<tracked_wire>> links_;
  std::vector<std::weak_ptr<tracking_listener>> listeners_;
  std::uint64_t last_link_ = 0;
};

}  // namespace herdlock::redis
