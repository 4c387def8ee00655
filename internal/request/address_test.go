package request

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParseAddr(t *testing.T) {
	for text, want := range map[string]string{
		"198.51.100.4": "198.51.100.4", "198.51.100.4:50001": "198.51.100.4", " \t198.51.100.4 ": "198.51.100.4",
		`"198.51.100.4:50001"`: "198.51.100.4", "198.51.100.4:_port": "198.51.100.4", "[198.51.100.4]:1": "198.51.100.4",
		"2001:db8::1": "2001:db8::1", "[2001:db8::1]": "2001:db8::1", `"[2001:db8::1]:4711"`: "2001:db8::1", "[2001:db8::1]:443": "2001:db8::1",
		"fe80::1%eth0": "fe80::1", "[fe80::1%eth0]:443": "fe80::1", "2001:DB8:0::1": "2001:db8::1",
		"::ffff:1.2.3.4": "1.2.3.4", "[::ffff:1.2.3.4%lo]:80": "1.2.3.4",
		"64:ff9b::1.2.3.4": "1.2.3.4", "[64:ff9b::102:304]:80": "1.2.3.4",
		"64:ff9b:1::1.2.3.4": "64:ff9b:1::102:304", "::1.2.3.4": "::102:304", "2002:102:304::": "2002:102:304::",
		"64:ff9b::10.0.0.1": "64:ff9b::a00:1", "64:ff9b::7f00:1": "64:ff9b::7f00:1", "64:ff9b::169.254.169.254": "64:ff9b::a9fe:a9fe", "64:ff9b::100.64.0.1": "64:ff9b::6440:1", "64:ff9b::100.128.0.1": "100.128.0.1", "::ffff:10.0.0.1": "10.0.0.1",

		"": "", "-": "", "unknown": "", "_hidden": "", "unix:": "", "unix:/run/x.sock": "", "@": "", "localhost": "", "localhost:80": "",
		"1.2.3": "", "1.2.3.4:http": "", "1.2.3.4.": "", "01.2.3.4": "", "1.2.3.4, 5.6.7.8": "", "[2001:db8::1": "", "[2001:db8::1]x": "", "[]:1": "", "1.2.3.4/32": "", "for=1.2.3.4": "",
	} {
		got := ""
		if addr := ParseAddr(text); addr.IsValid() {
			got = addr.String()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestParseAddrAllocates: an address costs no allocation, whether it has a port or not.
func TestParseAddrAllocates(t *testing.T) {
	for _, text := range []string{"198.51.100.4", "198.51.100.4:50001", `"[2001:db8::1]:443"`, "[64:ff9b::102:304]:80"} {
		if n := testing.AllocsPerRun(100, func() { ParseAddr(text) }); n > 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

// FuzzParseAddr: an address is in its Canonical form, which reads as itself, and
// has no port.
func FuzzParseAddr(f *testing.F) {
	for _, text := range []string{"198.51.100.4:50001", `"[fe80::1%eth0]:443"`, "64:ff9b::1.2.3.4", "unix:", "2002:102:304::", "::ffff:1.2.3.4", "_hidden"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		addr := ParseAddr(text)
		if !addr.IsValid() {
			return
		}
		for _, same := range []string{addr.String(), netip.AddrPortFrom(addr, 50001).String(), `"[` + addr.String() + `]:7"`, " " + text} {
			if got := ParseAddr(same); got != addr || got != Canonical(got) {
				t.Errorf("%q: %v; %q: %v", text, addr, same, got)
			}
		}
	})
}

// FuzzLocate: whatever a client sends, the entry that the proxy has added counts.
func FuzzLocate(f *testing.F) {
	for _, sent := range []string{"", `for="`, `"`, `for="198.51.100.66, \`, `for=1.1.1.1;x="`, ",,", `\"`} {
		f.Add(sent)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		want := netip.MustParseAddr("2001:db8::7")
		for header, added := range map[string]string{"": "[2001:db8::7]:4711", Forwarded: `by="_a,b";for="[2001:db8::7]:4711"; host="a\",b;\\"`} {
			a := ClientAddress{Hops: 1, Header: header}
			field := forwardedFor
			if header != "" {
				field = header
			}
			for _, values := range [][]string{{sent, added}, {sent + ", " + added}, {strings.ToUpper(sent) + "," + added}} {
				r := &Request{IP: netip.MustParseAddr("192.0.2.1"), Headers: map[string][]string{field: values}}
				if a.Locate(r); r.IP != want || r.Unreadable != "" {
					t.Errorf("%q: %v, unreadable %q", values, r.IP, r.Unreadable)
				}
			}
		}
	})
}
