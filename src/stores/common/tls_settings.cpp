#include "stores/common/tls_settings.hpp"

namespace herdlock::stores {

tls_settings take_tls(option_reader& from) {
  bool const unverified = from.chosen("verify") == 1;
  tls_settings taken{unverified ? encryption::tls_unverified : encryption::tls, from.text("cafile"),
                     from.text("cert"), from.text("key")};
  if (taken.certificate_file.empty() != taken.key_file.empty()) {
    from.refuse("cert and key go together: give both or none");
  }
  return taken;
}

}  // namespace herdlock::stores
