//! Tells global (public) IP addresses from special-purpose ones. Connections to hosts that customers choose go to
//! global addresses only: never to this machine or its private networks, also when such an address is embedded in
//! IPv6. Also says which addresses count as one peer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether the address is globally routable: it names the same host from anywhere on the internet.
pub fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_global_v4(address),
        IpAddr::V6(address) => is_global_v6(address),
    }
}

/// The address that stands for one peer in limits: an IPv4 address itself, or the /64 network of an IPv6 address,
/// because one customer usually has a whole /64.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 => v4,
    }
}

/// What counts as one place that asks for mail to be sent: an IPv4 /24, because addresses of one are easily had, or an
/// IPv6 /64.
pub fn neighbourhood(address: IpAddr) -> IpAddr {
    match network(address) {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, 0))
        }
        v6 => v6,
    }
}

/// The /48 of an IPv6 address: providers give a customer one, and with it 65,536 networks.
pub fn site(address: IpAddr) -> Option<IpAddr> {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, ..] = address.segments();
            Some(IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)))
        }
        IpAddr::V4(_) => None,
    }
}

/// Everything but the special-purpose registry of RFC 6890 and what came after it.
fn is_global_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = match (a, b, c) {
        (0 | 10 | 127, ..) => true,
        // Shared by carriers, link-local, private.
        (100, 64..=127, _) | (169, 254, _) | (172, 16..=31, _) | (192, 168, _) => true,
        // Protocol assignments, the old 6to4 relay, benchmarks, documentation.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => true,
        // Multicast, reserved, broadcast.
        (224.., ..) => true,
        _ => false,
    };
    !special
}

/// Global unicast without its special parts; an address that carries an IPv4 address is judged by that one.
fn is_global_v6(address: Ipv6Addr) -> bool {
    let part = address.segments();
    let carried = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_global_v4(Ipv4Addr::new(a, b, c, d))
    };
    match part {
        // ::ffff:a.b.c.d, and the translators' well-known prefix 64:ff9b::/96.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => carried(high, low),
        // 6to4.
        [0x2002, high, low, ..] => carried(high, low),
        // Protocol assignments (with Teredo and ORCHID) and documentation.
        [0x2001, 0..=0x01ff, ..] | [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        _ => part[0] & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn public_addresses_are_global() {
        for text in [
            "1.1.1.1",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "223.255.255.255",
            "2606:2800:220:1::1",
            "2a00:1450::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2002:101:101::1",
        ] {
            assert!(is_global(text.parse().unwrap()), "{text}");
        }
    }

    /// proves: WH-2
    #[test]
    fn private_addresses_are_not_in_whatever_form() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1.1.1.1",
            "100::1",
            "2001::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "2002:a00:1::1",
            "2002:c0a8:101::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_global(text.parse().unwrap()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn embedding_an_ipv4_address_does_not_make_it_global(octets in any::<[u8; 4]>()) {
            let plain = Ipv4Addr::from(octets);
            let [a, b, c, d] = octets.map(u16::from);
            let (high, low) = (a << 8 | b, c << 8 | d);
            for carrier in [
                plain.to_ipv6_mapped(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            ] {
                prop_assert_eq!(is_global(carrier.into()), is_global(plain.into()));
            }
        }
    }
}
